#pragma once  // internal

#include <omp.h>

#include "segre/core/torch.h"

/// MKL's number of threads for the calling thread, 0: as for all; returns the one before. Absent from a LibTorch
/// without MKL.
extern "C" int MKL_Set_Num_Threads_Local(int count) __attribute__((weak));

namespace segre {

/// While alive, LibTorch calls on this thread use no other thread, and return the same bits for any number of threads.
/// parallel_for holds one: oneDNN plans a convolution for as many threads as OpenMP promises and waits for all of them;
/// MKL counts for itself, and on some processors divides even the sums of a product among its threads.
class OneThread {
 public:
  OneThread() : before_(at::get_num_threads()) {
    // A thread's first call into LibTorch sets its number of threads. Both copies of that code, LibTorch's own (behind
    // get_num_threads) and the one inlined here, must run before our calls, not after them.
    at::internal::lazy_init_num_threads();
    omp_set_num_threads(1);
    if (MKL_Set_Num_Threads_Local != nullptr) mkl_before_ = MKL_Set_Num_Threads_Local(1);
  }
  ~OneThread() {
    omp_set_num_threads(before_);
    if (MKL_Set_Num_Threads_Local != nullptr) MKL_Set_Num_Threads_Local(mkl_before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
  int mkl_before_ = 0;
};

}  // namespace segre
