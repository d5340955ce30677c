#pragma once

#include "segre/train/objective.h"
#include "segre/train/time_law.h"

namespace segre {

/// How well weights do on held-out items.
struct ValidationResult {
  double loss;  ///< the objective, mean over times uniform on [0, largest time of training]
  double nats;  ///< the simulation-free bound on -log p per item, up to misread labels
};

/// Measures weights on items, times and noise that never change, so that values along a run, and of runs with the same
/// data and path, compare without sampling noise between them.
class Validation {
 public:
  /// `model` is its own copy: weights are put into its field. labels [K, n] int64.
  Validation(Model model, const torch::Tensor& labels, Objective objective, double t_max);
  ValidationResult operator()(const NamedTensors& weights);
  const Model& model() const { return model_; }

 private:
  torch::Tensor measure(int64_t from, int64_t to) const;  // [2]: sums of loss and information

  Model model_;
  torch::Tensor labels_;
  Objective objective_;
  double t_max_;
  double t1_;
};

}  // namespace segre
