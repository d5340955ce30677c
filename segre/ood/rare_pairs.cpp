#include "segre/ood/rare_pairs.h"

#include <cmath>

#include "segre/core/error.h"

namespace segre {
namespace {

constexpr double kChance = 0.05;

// Roughly -log of the probability of seeing this few: half the deviance of a Poisson count. 0 unless there are too few.
double deviance(double seen, double expected) {
  if (seen >= expected) return 0.0;
  return expected - seen + (seen > 0.0 ? seen * std::log(seen / expected) : 0.0);
}

}  // namespace

std::optional<RarePair> rarest_pair(const torch::Tensor& row, const torch::Tensor& train) {
  const int64_t n = row.numel();
  const auto same = (train == row).to(torch::kFloat64);  // [M, n]
  const auto together = same.t().mm(same).contiguous();  // training rows with the row's labels i and j
  const auto* count = together.data_ptr<double>();
  const auto n_train = static_cast<double>(train.size(0));
  std::optional<RarePair> rarest;
  double largest = std::log(0.5 * static_cast<double>(n * (n - 1)) / kChance);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i + 1; j < n; ++j) {
      const double expected = count[i * n + i] * count[j * n + j] / n_train;
      const double found = deviance(count[i * n + j], expected);
      if (!(found > largest)) continue;
      largest = found;
      rarest = RarePair{i, j, static_cast<int64_t>(count[i * n + j]), expected};
    }
  return rarest;
}

std::string describe(const RarePair& pair, const Space& space, const torch::Tensor& row) {
  const auto label = [&](int64_t i) {
    return concat(space.variable_name(i), " = ", space.label_name(i, row[i].item<int64_t>()));
  };
  return concat(label(pair.first), " with ", label(pair.second));
}

}  // namespace segre
