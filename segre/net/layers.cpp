#include "segre/net/layers.h"

#include <algorithm>
#include <numbers>

#include "segre/data/label_counts.h"
#include "segre/space/blocks.h"

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

torch::Tensor log_frequencies(const DataSource& source, bool shared) {
  constexpr int64_t kValues = 50'000'000;  // to count at most
  constexpr int64_t kItems = 200'000;
  const Space& space = source.space();
  const int64_t most = std::clamp(kValues / space.n_variables(), int64_t{1000}, kItems);
  auto counts = count_labels(source, most).to(torch::kFloat64);
  const auto smooth = [](const torch::Tensor& of_variable) {
    const auto more = of_variable + 1.0 / static_cast<double>(of_variable.size(-1));
    return (more / more.sum(-1, /*keepdim=*/true)).log();
  };
  if (shared) return smooth(counts.view({space.n_variables(), -1}).sum(0)).to(torch::kFloat32);
  return map_blocks(space, {counts}, [&](const auto& in) { return smooth(in[0]); }).to(torch::kFloat32);
}

}  // namespace segre
