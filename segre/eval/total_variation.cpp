#include "segre/eval/total_variation.h"

#include <cmath>

#include "segre/core/error.h"
#include "segre/space/check_labels.h"

namespace segre {

namespace {

constexpr int64_t kMostCountable = int64_t{1} << 62;

}  // namespace

bool LabelingCounts::serves(const Space& space) { return space.n_labelings(kMostCountable) <= kMostCountable; }

LabelingCounts::LabelingCounts(const Space& space) : space_(space) {
  if (!serves(space)) fail_input("the ", space.describe(), " has too many labelings to count");
  strides_ = torch::ones({space.n_variables()}, torch::kInt64);
  auto* stride = strides_.data_ptr<int64_t>();
  for (int64_t i = space.n_variables() - 2; i >= 0; --i) stride[i] = stride[i + 1] * space.n_labels(i + 1);
}

void LabelingCounts::add(const torch::Tensor& labels) {
  check_integer_labels(space_, labels);
  const auto numbers = (labels.to(torch::kCPU) * strides_).sum(-1);
  const auto* number = numbers.data_ptr<int64_t>();
  for (int64_t b = 0; b < numbers.numel(); ++b) ++counts_[number[b]];
  total_ += numbers.numel();
}

torch::Tensor LabelingCounts::counts(const torch::Tensor& labelings) const {
  check_integer_labels(space_, labelings);
  auto out = (labelings.to(torch::kCPU) * strides_).sum(-1);
  auto* value = out.data_ptr<int64_t>();
  for (int64_t r = 0; r < out.numel(); ++r) {
    const auto at = counts_.find(value[r]);
    value[r] = at == counts_.end() ? 0 : at->second;
  }
  return out;
}

int64_t LabelingCounts::count(const torch::Tensor& labeling) const {
  return counts(labeling.unsqueeze(0)).item<int64_t>();
}

double total_variation(const JointTable& table, const LabelingCounts& counts) {
  const auto n = static_cast<double>(counts.total());
  const auto frequencies = counts.counts(table.labelings).to(torch::kFloat64) / n;
  const double outside = 1.0 - frequencies.sum().item<double>();
  return 0.5 * ((frequencies - table.p).abs().sum().item<double>() + outside);
}

double total_variation_floor(const JointTable& table, int64_t n_samples) {
  const auto n = static_cast<double>(n_samples);
  const auto* p = table.p.data_ptr<double>();
  double sum = 0.0;
  for (int64_t r = 0; r < table.p.numel(); ++r) {
    if (p[r] >= 1.0) continue;
    // E|X - np| = 2 k C(n, k) p^k (1-p)^(n-k+1), k = floor(np) + 1
    const double k = std::floor(n * p[r]) + 1.0;
    const double log_choose = std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0);
    sum += 2.0 * std::exp(std::log(k) + log_choose + k * std::log(p[r]) + (n - k + 1.0) * std::log1p(-p[r])) / n;
  }
  return 0.5 * sum;
}

}  // namespace segre
