#pragma once  // internal

#include "segre/model/model.h"

namespace segre {

/// Training items with holes. Leaving the holes out would let the network see which cells are missing, and it would
/// learn p(x | those cells are missing): its samples, which have no holes, would follow the complete rows alone. So
/// holes are filled by the model's own draws given the rest of their item, which is right if cells are missing at
/// random, as in stochastic EM. Three evaluations draw up to three holes of an item one after the other, the most
/// uncertain first; of more, one, two and then the rest at once, whose dependence those three mostly explain. Then, so
/// that the network also learns to do without some cells, half of the items lose those that are missing in another
/// item, whatever their labels.
class TrainingHoles {
 public:
  TrainingHoles(Model model, uint64_t seed) : model_(std::move(model)), seed_(seed) {}

  /// Whether a model can fill holes: it must be one that is shown labels in its training, and whose items do not
  /// influence each other.
  static bool can_fill(const Model& model);

  /// labels [B, n] int64, kUnknown for holes; first_cell [1] int64 on their device: the number of the first item times
  /// n. Nothing waits for a device other than the CPU.
  torch::Tensor operator()(const torch::Tensor& labels, const torch::Tensor& first_cell) const;

 private:
  torch::Tensor numbers(const torch::Tensor& labels, const torch::Tensor& first_cell, int64_t part) const;
  torch::Tensor filled(const torch::Tensor& labels, const torch::Tensor& first_cell) const;

  Model model_;
  uint64_t seed_;
};

}  // namespace segre
