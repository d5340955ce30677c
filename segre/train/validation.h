#pragma once

#include "segre/train/objective.h"
#include "segre/train/time_law.h"

namespace segre {

/// How well weights do on held-out items.
struct ValidationResult {
  double loss;        ///< the objective, mean over times uniform on [0, largest time of training]
  double nats;        ///< the simulation-free bound on -log p per item, up to misread labels
  double nats_error;  ///< standard error of nats: items, times and noise together; NaN for a single item
};

/// The same at a step of a training.
struct ValidationPoint {
  int64_t step;
  ValidationResult result;
};

/// Measures weights on items, times and noise that never change, so that values along a run, and of runs with the same
/// data and path, compare without sampling noise between them. An item has one time or more, spread evenly over all
/// times; which ones is shuffled, so that the order of the items says nothing about their times.
class Validation {
 public:
  /// `model` is its own copy: weights are put into its field. labels [K, n] int64; of more than
  /// `evaluations` items as many are used, fewer are evaluated several times each. InputError as
  /// check_labels, or where there are none.
  Validation(Model model, const torch::Tensor& labels, Objective objective, double t_max, int64_t evaluations = 512);
  ValidationResult operator()(const NamedTensors& weights);
  const Model& model() const { return model_; }

 private:
  // Evaluations from ... to - 1: [2, to - from], loss and information of each, float64 on the CPU.
  torch::Tensor measure(int64_t from, int64_t to) const;

  Model model_;
  torch::Tensor labels_;  // [K, n]
  torch::Tensor times_;   // [evaluations], as shares of t_max_; evaluation e is one of item e % K
  Objective objective_;
  double t_max_;
  double t1_;
};

}  // namespace segre
