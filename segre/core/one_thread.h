#pragma once  // internal

#include <omp.h>

#include "segre/core/torch.h"

namespace segre {

/// While alive, LibTorch calls on this thread use no other thread, and return the same bits for any number of threads.
/// parallel_for holds one: oneDNN plans a convolution for as many threads as OpenMP promises and waits for all of them.
class OneThread {
 public:
  OneThread() : before_(at::get_num_threads()) {
    // A thread's first call into LibTorch sets its number of threads. Both copies of that code, LibTorch's own (behind
    // get_num_threads) and the one inlined here, must run before our call, not after it.
    at::internal::lazy_init_num_threads();
    omp_set_num_threads(1);
  }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace segre
