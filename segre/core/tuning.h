#pragma once

namespace segre {

/// Settings of the whole process that a program sets once, first thing in main:
/// - freed blocks of a few megabytes are kept: glibc would give them back to the kernel and fault them in at every
///   step, which costs more than the arithmetic;
/// - subnormal numbers count as 0 (in this thread and those it starts later): probabilities that underflow would slow
///   products down several times;
/// - work is shared among segre's own threads (parallel_for), which sleep while they wait; LibTorch's own loops stay on
///   the thread that calls them, since OpenMP's threads spin and wait for all of their number: on a machine that does
///   other things that is many times slower;
/// - convolutions in float32 do not round their inputs to TF32: likelihoods differentiate them.
/// The library itself never changes such settings.
void tune_process();

}  // namespace segre
