#include "segre/eval/roc.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "segre/core/error.h"

namespace segre {
namespace {

constexpr double kNormalQuantile = 1.959963984540054;  // 97.5%
constexpr double kTail = 0.025;                        // beyond each end of the interval
constexpr double kRecall = 0.95;

std::vector<double> sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

// Share of `others` (sorted) below each value, equals counting half: mean and variance of that mean over the values.
struct Placement {
  double mean;
  double variance;
};

Placement placement(const std::vector<double>& values, const std::vector<double>& others) {
  const auto n = static_cast<double>(values.size());
  std::vector<double> shares;
  shares.reserve(values.size());
  for (const double value : values) {
    const auto [first, last] = std::equal_range(others.begin(), others.end(), value);
    const auto twice = static_cast<double>((first - others.begin()) + (last - others.begin()));
    shares.push_back(twice / (2.0 * static_cast<double>(others.size())));
  }
  const double mean = std::accumulate(shares.begin(), shares.end(), 0.0) / n;
  double squares = 0.0;
  for (const double share : shares) squares += (share - mean) * (share - mean);
  return {mean, squares / (n - 1.0) / n};
}

void set_interval(Roc& out, double variance, size_t n_pairs) {
  const double a = out.auroc;
  if (a <= 0.0 || a >= 1.0) {
    const double reach = std::pow(kTail, 1.0 / static_cast<double>(n_pairs));
    out.low = a >= 1.0 ? reach : 0.0;
    out.high = a >= 1.0 ? 1.0 : 1.0 - reach;
    return;
  }
  const double logit = std::log(a / (1.0 - a));
  const double spread = kNormalQuantile * std::sqrt(variance) / (a * (1.0 - a));
  const auto back = [](double x) { return 1.0 / (1.0 + std::exp(-x)); };
  out.low = back(logit - spread);
  out.high = back(logit + spread);
}

double accepted_share(const std::vector<double>& inside, const std::vector<double>& outside) {
  const auto wanted = static_cast<size_t>(std::ceil(kRecall * static_cast<double>(inside.size()) - 1e-9));
  const double threshold = inside[wanted - 1];
  const auto accepted = std::upper_bound(outside.begin(), outside.end(), threshold) - outside.begin();
  return static_cast<double>(accepted) / static_cast<double>(outside.size());
}

}  // namespace

Roc roc(const std::vector<double>& inside, const std::vector<double>& outside) {
  if (inside.size() < 2 || outside.size() < 2)
    fail_input("comparing scores needs two items inside and two outside, there are ", inside.size(), " and ",
               outside.size());
  for (const auto* scores : {&inside, &outside})
    if (std::any_of(scores->begin(), scores->end(), [](double score) { return std::isnan(score); }))
      fail("a score is not a number");
  const auto x = sorted(inside);
  const auto y = sorted(outside);
  const Placement of_outside = placement(y, x);
  const Placement of_inside = placement(x, y);
  Roc out{.auroc = of_outside.mean, .low = 0.0, .high = 1.0, .fpr95 = accepted_share(x, y)};
  // Rounding must not hide that the samples are apart.
  if (x.back() < y.front()) out.auroc = 1.0;
  if (y.back() < x.front()) out.auroc = 0.0;
  set_interval(out, of_outside.variance + of_inside.variance, std::min(x.size(), y.size()));
  return out;
}

}  // namespace segre
