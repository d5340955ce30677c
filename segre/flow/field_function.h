#pragma once

#include <functional>

#include "segre/core/torch.h"

namespace segre {

/// A tensor at states v [B, S] and times t, [1] for all rows or [B].
using FieldFunction = std::function<torch::Tensor(const torch::Tensor& v, const torch::Tensor& t)>;

}  // namespace segre
