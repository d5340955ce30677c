#pragma once

#include <memory>

namespace segre {

/// Process-wide settings that a program makes once, at the start of main:
/// - freed blocks of a few megabytes are kept: glibc would return them to the kernel and fault them in again at every
///   step, which costs more than the arithmetic;
/// - subnormal numbers are flushed to 0 (in this thread and those it starts later): underflowing probabilities would
///   make products several times slower;
/// - segre's own threads (parallel_for), which sleep while they wait, share the work; LibTorch's loops stay on the
///   calling thread, since OpenMP's threads spin and wait for each other, which is many times slower on a busy machine;
/// - on virtual machines that hide the tiles of AMX, oneDNN does without: see avoid_hidden_tiles;
/// - convolutions in float32 do not round their inputs to TF32: likelihoods differentiate them.
/// The library itself never changes such settings.
void tune_process();

/// The settings of tune_process for the calling thread alone, while this object lives: a program with other work of its
/// own, such as an interpreter that also runs PyTorch, gets the bits of `segre` without giving up its own settings. The
/// TF32 setting belongs to the whole process; it returns when the last such object is gone.
class TunedThread {
 public:
  TunedThread();
  ~TunedThread();
  TunedThread(const TunedThread&) = delete;
  TunedThread& operator=(const TunedThread&) = delete;

 private:
  struct Before;
  std::unique_ptr<Before> before_;
};

/// The part of tune_process that concerns freed memory.
void keep_freed_memory();

/// Whether the processor claims to have AMX, whose tiles are not described: some virtual machines pass on the flags
/// but not leaf 0x1D of CPUID. oneDNN, which LibTorch uses for products of bfloat16, then ends the process by SIGILL.
bool hides_tiles();

/// Lets oneDNN do without AMX if it would end the process (ONEDNN_MAX_CPU_ISA, unless that is set). Call it before the
/// first product and while there is one thread.
void avoid_hidden_tiles();

}  // namespace segre
