#include "segre/eval/roc.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "segre/core/error.h"
#include "segre/eval/intervals.h"

namespace segre {
namespace {

constexpr double kNormalQuantile = 1.959963984540054;  // 97.5%
constexpr double kTail = 0.025;                        // beyond each end of the interval
constexpr double kRecall = 0.95;

std::vector<double> sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

// Share of `others` (sorted) below each value, ties count half: mean and variance of that mean over the values.
struct Placement {
  double mean;
  double variance;
};

std::vector<double> shares_below(const std::vector<double>& values, const std::vector<double>& others) {
  std::vector<double> shares;
  shares.reserve(values.size());
  for (const double value : values) {
    const auto [first, last] = std::equal_range(others.begin(), others.end(), value);
    const auto twice = static_cast<double>((first - others.begin()) + (last - others.begin()));
    shares.push_back(twice / (2.0 * static_cast<double>(others.size())));
  }
  return shares;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Covariance of the means of two values of the same items.
double covariance_of_means(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  const double mean_x = mean_of(x);
  const double mean_y = mean_of(y);
  double products = 0.0;
  for (size_t k = 0; k < x.size(); ++k) products += (x[k] - mean_x) * (y[k] - mean_y);
  return products / (n - 1.0) / n;
}

Placement placement(const std::vector<double>& values, const std::vector<double>& others) {
  const auto shares = shares_below(values, others);
  return {mean_of(shares), covariance_of_means(shares, shares)};
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

// Outside items (sorted) accepted by the threshold that accepts `wanted` inside items (sorted).
int64_t n_accepted(const std::vector<double>& inside, const std::vector<double>& outside, size_t wanted) {
  if (wanted > inside.size()) return static_cast<int64_t>(outside.size());
  return std::upper_bound(outside.begin(), outside.end(), inside[wanted - 1]) - outside.begin();
}

void set_accepted_share(Roc& out, const std::vector<double>& inside, const std::vector<double>& outside) {
  const auto m = static_cast<double>(inside.size());
  const auto rank = [&](double share) { return static_cast<size_t>(std::max(1.0, std::ceil(share * m - 1e-9))); };
  const auto n = static_cast<int64_t>(outside.size());
  const int64_t accepted = n_accepted(inside, outside, rank(kRecall));
  const Estimate share = share_estimate(accepted, n);
  const auto share_at = [&](double recall) {
    return static_cast<double>(n_accepted(inside, outside, rank(recall))) / static_cast<double>(n);
  };
  const double reach = kNormalQuantile * std::sqrt(kRecall * (1.0 - kRecall) / m);
  // The inside items move the threshold, the outside items their share: two independent errors.
  const double fewer = std::hypot(share.value - share_at(kRecall - reach), share.value - share.low);
  const double more = std::hypot(share_at(kRecall + reach + 1.0 / m) - share.value, share.high - share.value);
  out.fpr95 = share.value;
  out.fpr95_low = std::max(0.0, share.value - fewer);
  out.fpr95_high = std::min(1.0, share.value + more);
}

// The two parts of an AUROC's error: each inside item's share of outside items above it (negated), and each outside
// item's share of inside items below it.
struct Influence {
  std::vector<double> of_inside;
  std::vector<double> of_outside;
};

Influence influence(const RocSamples& sets) {
  return {shares_below(sets.inside, sorted(sets.outside)), shares_below(sets.outside, sorted(sets.inside))};
}

double covariance(const Influence& x, const Influence& y) {
  return covariance_of_means(x.of_inside, y.of_inside) + covariance_of_means(x.of_outside, y.of_outside);
}

}  // namespace

Roc roc(const std::vector<double>& inside, const std::vector<double>& outside) {
  if (inside.size() < 2 || outside.size() < 2)
    fail_input("comparing scores needs two inside and two outside items, found ", inside.size(), " and ",
               outside.size());
  for (const auto* scores : {&inside, &outside})
    if (std::any_of(scores->begin(), scores->end(), [](double score) { return std::isnan(score); }))
      fail("a score is not a number");
  const auto x = sorted(inside);
  const auto y = sorted(outside);
  const Placement of_outside = placement(y, x);
  const Placement of_inside = placement(x, y);
  Roc out{.auroc = of_outside.mean, .low = 0.0, .high = 1.0, .fpr95 = 0.0};
  set_accepted_share(out, x, y);
  // Rounding must not hide that the samples do not overlap.
  if (x.back() < y.front()) out.auroc = 1.0;
  if (y.back() < x.front()) out.auroc = 0.0;
  set_interval(out, of_outside.variance + of_inside.variance, std::min(x.size(), y.size()));
  return out;
}

double auroc_correlation(const RocSamples& x, const RocSamples& y) {
  if (x.inside.size() != y.inside.size() || x.outside.size() != y.outside.size())
    fail("two scores must be compared on the same items, found ", x.inside.size(), " and ", y.inside.size(),
         " inside, ", x.outside.size(), " and ", y.outside.size(), " outside");
  const Influence of_x = influence(x);
  const Influence of_y = influence(y);
  const double product = covariance(of_x, of_x) * covariance(of_y, of_y);
  return product > 0.0 ? std::clamp(covariance(of_x, of_y) / std::sqrt(product), -1.0, 1.0) : 0.0;
}

}  // namespace segre
