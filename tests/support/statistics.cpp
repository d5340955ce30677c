#include "tests/support/statistics.h"

#include <cmath>

#include "segre/eval/total_variation.h"

namespace segre::test {

double chi_square_sigmas(const JointTable& table, const torch::Tensor& samples) {
  LabelingCounts counts(table.space);
  counts.add(samples);
  const auto n = static_cast<double>(samples.size(0));
  const auto k = static_cast<double>(table.p.numel());
  const auto expected = n * table.p;
  const auto found = counts.counts(table.labelings).to(torch::kFloat64);
  const double statistic = ((found - expected).square() / expected).sum().item<double>();
  // Variance of the statistic under the multinomial (Haldane, 1937).
  const double inverse = table.p.reciprocal().sum().item<double>();
  const double variance = 2.0 * (k - 1.0) + (inverse - k * k - 2.0 * k + 2.0) / n;
  return (statistic - (k - 1.0)) / std::sqrt(variance);
}

}  // namespace segre::test
