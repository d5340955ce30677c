#pragma once  // internal

#include <functional>

#include "segre/space/space.h"

namespace segre {

/// How fill_unknown draws labels.
struct FillPlan {
  int64_t steps = 1;  ///< evaluations; the cells of a step are drawn as if they were independent
  /// How many of an item's `total` open cells, [B, 1], are drawn by the end of a step; all by the end of the last.
  std::function<torch::Tensor(int64_t step, const torch::Tensor& total)> upto = {};  ///< empty: equal shares
  std::function<torch::Tensor(const torch::Tensor& labels)> log_marginals;           ///< [B, n] so far -> [B, S]
  std::function<torch::Tensor(int64_t step)> uniforms;            ///< [B, n] numbers that decide the labels
  std::function<torch::Tensor(const torch::Tensor& p)> priority;  ///< p [B, S] -> [B, n]: smaller ones come first
};

/// Draws the labels that are kUnknown in labels [B, n] int64, a few at a time, each from its marginal given those
/// before. With one cell per step this is any-order autoregression.
torch::Tensor fill_unknown(const Space& space, torch::Tensor labels, const FillPlan& plan);

}  // namespace segre
