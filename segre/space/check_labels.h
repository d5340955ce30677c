#pragma once

#include "segre/space/space.h"

namespace segre {

/// Like check_labels in space.h, for labels of any integer type or bool: throws InputError unless they are [B, n] with
/// each value in [0, c_i), or kUnknown if allowed, naming the first offending item, variable and value. One pass,
/// without a copy if the labels are contiguous on the CPU.
void check_integer_labels(const Space& space, const torch::Tensor& labels, Unknowns unknowns = Unknowns::refuse);

}  // namespace segre
