#pragma once

#include "segre/ranks/ranks.h"
#include "segre/train/objective.h"
#include "segre/train/time_law.h"

namespace segre {

/// How well weights perform on held-out items.
struct ValidationResult {
  double loss;        ///< the objective, averaged over uniform times on [0, largest training time]
  double nats;        ///< the simulation-free bound on -log p per item, up to misread labels
  double nats_error;  ///< standard error of nats: items, times and noise together; NaN for a single item
  /// [K] float64: the nats of each item, in the order of Validation::items. All validations of a training use the same
  /// items, times and noise, so differences between two of them are far more certain than either. Undefined if unknown.
  torch::Tensor of_items{};
};

/// The same at a training step.
struct ValidationPoint {
  int64_t step;
  ValidationResult result;
};

/// Evaluates weights on fixed items, times and noise, so that values along a run, and of runs with the same data and
/// path, can be compared without sampling noise. An item has one or more times, spread evenly; their assignment is
/// shuffled, so that the order of the items does not determine their times.
class Validation {
 public:
  /// `model` must be a separate copy: weights are loaded into its field. labels [K, n] int64; at most `evaluations`
  /// items are used, and fewer are evaluated several times each. InputError like check_labels, or if there are no
  /// items.
  Validation(Model model, const torch::Tensor& labels, Objective objective, double t_max, int64_t evaluations = 512);
  /// All ranks evaluate weights together.
  ValidationResult operator()(const NamedTensors& weights, Ranks& ranks);
  ValidationResult operator()(const NamedTensors& weights) { return (*this)(weights, *one_rank()); }
  const Model& model() const { return model_; }
  /// The items that it uses: [K, n] int64 on the CPU.
  torch::Tensor items() const { return labels_.to(torch::kCPU); }

 private:
  // Evaluations from ... to - 1: [2, to - from], loss and information of each, float64 on the CPU.
  torch::Tensor measure(int64_t from, int64_t to) const;

  Model model_;
  torch::Tensor labels_;  // [K, n]
  torch::Tensor times_;   // [evaluations], as fractions of t_max_; evaluation e uses item e % K
  Objective objective_;
  double t_max_;
  double t1_;
};

}  // namespace segre
