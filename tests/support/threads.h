#pragma once

#include "segre/core/torch.h"

namespace segre::test {

/// Sets the number of LibTorch's threads while alive. Small problems run on one: where tests run side by side, threads
/// that wait for each other take far longer than the work.
class Threads {
 public:
  explicit Threads(int count) : before_(at::get_num_threads()) { at::set_num_threads(count); }
  ~Threads() { at::set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

}  // namespace segre::test
