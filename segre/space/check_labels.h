#pragma once

#include "segre/space/space.h"

namespace segre {

/// As check_labels, declared in space.h, for labels of any integer type or bool: throws InputError unless they are
/// [B, n] with each value in [0, c_i), naming the first item, variable and value that is not. One pass over them,
/// without a copy where they lie in one piece on the CPU.
void check_integer_labels(const Space& space, const torch::Tensor& labels);

}  // namespace segre
