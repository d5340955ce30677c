#include "segre/eval/neighbours.h"

#include <algorithm>

#include "segre/core/error.h"

namespace segre {
namespace {

constexpr int64_t kBlockFloats = int64_t{1} << 24;  // 64 MB of indicators, or of distances, at a time
constexpr int64_t kMostRows = 4096;
// With this many times more coordinates than variables, indicators are nearly all zero: comparing labels is faster.
constexpr int64_t kSparse = 32;
constexpr int64_t kMostVariables = int64_t{1} << 24;  // counts of matches stay exact in float32

// How distances are computed for a space.
class HammingMetric {
 public:
  HammingMetric(const Space& space, torch::Device device) : space_(space), device_(device) {
    if (space.n_variables() > kMostVariables)
      fail_input("distances are computed for at most ", kMostVariables, " variables, found: ", space.describe());
    binary_ = space.is_uniform() && space.max_labels() == 2;
    sparse_ = !binary_ && space.n_coordinates() / space.n_variables() >= kSparse;
    width_ = binary_ || sparse_ ? space.n_variables() : space.n_coordinates();
  }

  // Items per block.
  int64_t rows() const { return std::clamp<int64_t>(kBlockFloats / width_, 1, kMostRows); }

  // Labels [B, n] in the form that distances() takes: signs, labels, or an indicator for each label.
  torch::Tensor encode(const torch::Tensor& labels) const {
    const auto here = labels.to(device_);
    if (binary_) return here.to(torch::kFloat32).mul_(2.0f).sub_(1.0f);
    if (sparse_) return here.to(torch::kInt32);
    const auto place = here.to(torch::kInt64) + space_.starts(device_);
    return torch::zeros({labels.size(0), width_}, torch::TensorOptions(device_)).scatter_(1, place, 1.0f);
  }

  // All pairs: [B, T] float64.
  torch::Tensor distances(const torch::Tensor& x, const torch::Tensor& y) const {
    const auto n = static_cast<double>(space_.n_variables());
    if (binary_) return torch::rsub(x.matmul(y.t()).to(torch::kFloat64), n).mul_(0.5);
    if (!sparse_) return torch::rsub(x.matmul(y.t()).to(torch::kFloat64), n);
    auto out = torch::zeros({x.size(0), y.size(0)}, torch::TensorOptions(device_).dtype(torch::kFloat64));
    for (int64_t i = 0; i < space_.n_variables(); ++i) out += x.slice(1, i, i + 1) != y.select(1, i);
    return out;
  }

 private:
  const Space& space_;
  torch::Device device_;
  bool binary_ = false;
  bool sparse_ = false;
  int64_t width_ = 0;
};

torch::Tensor smallest(const torch::Tensor& keys, int64_t k) {
  if (k == 1) return keys.amin(1, /*keepdim=*/true);
  return std::get<0>(keys.topk(std::min(k, keys.size(1)), 1, /*largest=*/false, /*sorted=*/true));
}

}  // namespace

Neighbours nearest_items(const Space& space, const torch::Tensor& items, const torch::Tensor& among, int64_t k,
                         torch::Device device) {
  const int64_t N = among.size(0);
  if (k < 1 || k > N) fail_input("cannot find the nearest ", k, " of ", N, " items");
  const HammingMetric metric(space, device);
  const int64_t step = std::min(metric.rows(), int64_t{1024});
  std::vector<torch::Tensor> found;
  for (int64_t first = 0; first < items.size(0); first += step) {
    const auto x = metric.encode(items.slice(0, first, std::min(first + step, items.size(0))));
    torch::Tensor best;
    for (int64_t row = 0; row < N; row += metric.rows()) {
      const auto y = metric.encode(among.slice(0, row, std::min(row + metric.rows(), N)));
      // Distance and row in one number, below 2^53, so that equally near items are ordered by row.
      auto keys = metric.distances(x, y).mul_(static_cast<double>(N));
      keys += torch::arange(row, row + y.size(0), torch::TensorOptions(device).dtype(torch::kFloat64));
      const auto here = smallest(keys, k);
      best = best.defined() ? smallest(torch::cat({best, here}, 1), k) : here;
    }
    found.push_back(best.to(torch::kCPU, torch::kInt64));
  }
  const auto keys = found.empty() ? torch::empty({0, k}, torch::kInt64) : torch::cat(found);
  return {keys.div(N, "floor"), keys.remainder(N)};
}

Memorisation judge_memorisation(const torch::Tensor& samples, const torch::Tensor& held_out) {
  const auto copies = [](const torch::Tensor& distances) {
    return share_estimate((distances == 0).sum().item<double>(), static_cast<double>(distances.numel()));
  };
  Memorisation out;
  out.copies = copies(samples);
  out.natural_copies = copies(held_out);
  out.nearer = probability_below(samples, held_out);
  out.median = quantile_estimate(samples, 0.5);
  out.natural_median = quantile_estimate(held_out, 0.5);
  out.nearest5 = quantile_estimate(samples, 0.05);
  out.natural_nearest5 = quantile_estimate(held_out, 0.05);
  return out;
}

}  // namespace segre
