#include "segre/net/layers.h"

#include <numbers>

namespace segre {

torch::Tensor WeightSource::uniform(at::IntArrayRef shape, double bound) {
  auto weights = fill_uniform(torch::empty(shape), random_, next_);
  next_ += static_cast<uint64_t>(weights.numel());
  return weights.mul_(2.0 * bound).sub_(bound);
}

torch::Tensor WeightSource::normal(at::IntArrayRef shape) {
  auto weights = fill_normal(torch::empty(shape), random_, next_);
  next_ += static_cast<uint64_t>(weights.numel());
  return weights;
}

torch::Tensor time_features(const torch::Tensor& t, int64_t n) {
  const auto frequencies = torch::arange(1, n + 1, t.options()) * (0.5 * std::numbers::pi);
  const auto angle = t.unsqueeze(1) * frequencies;
  return torch::cat({angle.sin(), angle.cos()}, 1);
}

}  // namespace segre
