#pragma once

#include "segre/space/check_labels.h"

namespace segre::python {

/// A user's labels [B, n] of any integer type and device, checked: int64 on the CPU. -1 only if unknowns are allowed.
inline torch::Tensor checked_labels(const Space& space, const torch::Tensor& labels,
                                    Unknowns unknowns = Unknowns::refuse) {
  check_integer_labels(space, labels, unknowns);
  return labels.to(torch::kCPU, torch::kInt64).contiguous();
}

}  // namespace segre::python
