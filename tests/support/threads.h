#pragma once

#include "segre/core/parallel.h"
#include "segre/core/torch.h"

namespace segre::test {

/// Sets the number of threads, segre's and LibTorch's, while alive.
class Threads {
 public:
  explicit Threads(int count) : before_(n_threads()), torch_before_(at::get_num_threads()) {
    set_threads(count);
    at::set_num_threads(count);
  }
  ~Threads() {
    set_threads(before_);
    at::set_num_threads(torch_before_);
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
  int torch_before_;
};

}  // namespace segre::test
