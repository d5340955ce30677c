#pragma once

#include <cstdint>
#include <functional>

namespace segre {

/// How many threads share segre's work on the CPU, the calling one included. Until set_threads: as many as LibTorch
/// has (OMP_NUM_THREADS, or one per core).
int n_threads();
/// Changes it; at least 1. Results do not depend on it.
void set_threads(int count);

/// Calls body(from, to) for the parts [begin, begin + grain), [begin + grain, ...) ... of [begin, end), in any order,
/// on up to n_threads() threads. The calling thread works too and waits only for parts that another thread has begun:
/// where the machine has other things to do it goes on alone. Threads without work sleep. Inside the body LibTorch
/// works on one thread, so that the bits of a part do not depend on n_threads(), and another parallel_for is a plain
/// loop. The first exception ends the loop and is thrown here. Several threads may call at once.
void parallel_for(int64_t begin, int64_t end, int64_t grain, const std::function<void(int64_t from, int64_t to)>& body);

}  // namespace segre
