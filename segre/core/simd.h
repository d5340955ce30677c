#pragma once  // internal

// Loops marked SEGRE_MULTIVERSION are compiled for several instruction sets and selected at program start, so
// one portable binary uses AVX-512 if available. Sanitizers cannot run the selection; they get one version.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__) && !defined(SEGRE_NO_MULTIVERSION)
#define SEGRE_MULTIVERSION __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SEGRE_MULTIVERSION
#endif
