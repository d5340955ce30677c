#pragma once

namespace segre {

/// Process-wide settings that a program makes once, at the start of main:
/// - freed blocks of a few megabytes are kept: glibc would return them to the kernel and fault them in again at every
///   step, which costs more than the arithmetic;
/// - subnormal numbers are flushed to 0 (in this thread and those it starts later): underflowing probabilities would
///   make products several times slower;
/// - segre's own threads (parallel_for), which sleep while they wait, share the work; LibTorch's loops stay on the
///   calling thread, since OpenMP's threads spin and wait for each other, which is many times slower on a busy machine;
/// - convolutions in float32 do not round their inputs to TF32: likelihoods differentiate them.
/// The library itself never changes such settings.
void tune_process();

}  // namespace segre
