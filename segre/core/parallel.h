#pragma once

#include <cstdint>
#include <functional>

namespace segre {

/// Number of threads that share segre's CPU work, including the caller. Defaults to LibTorch's number (OMP_NUM_THREADS,
/// or one per core) at the first call.
int n_threads();
/// Changes it; at least 1. Results do not depend on it.
void set_threads(int count);

/// Calls body(from, to) for the parts [begin, begin + grain), [begin + grain, ...) ... of [begin, end), in any order,
/// on up to n_threads() threads. The calling thread works too and waits only for parts that another thread has started,
/// so on a busy machine it carries on alone. Idle threads sleep. Inside the body LibTorch uses one thread, so the bits
/// of a part do not depend on n_threads(), and a nested parallel_for is a plain loop. The first exception ends the loop
/// and is rethrown here. Several threads may call this at once.
void parallel_for(int64_t begin, int64_t end, int64_t grain, const std::function<void(int64_t from, int64_t to)>& body);

/// Calls body(k) for blocks 0 ... n_blocks - 1 of the rows of some work. On the CPU each block runs on one thread, so
/// threads need not wait for each other at every operation; elsewhere the calling thread runs them in order, since the
/// device itself works in parallel.
void for_each_block(int64_t n_blocks, bool on_cpu, const std::function<void(int64_t block)>& body);

}  // namespace segre
