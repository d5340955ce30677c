#include "segre/likelihood/scores.h"

#include <cmath>
#include <unordered_map>

#include "segre/core/rng.h"

namespace segre {
torch::Tensor total_error(const ItemScores& scores) {
  if (!scores.integration.defined()) return scores.std_error;
  return (scores.std_error.square() + scores.integration.square()).sqrt();
}

double error_of_sum(const ItemScores& scores, const torch::Tensor& weights) {
  if (!scores.shared.defined()) return (weights * scores.std_error).square().sum().sqrt().item<double>();
  if (scores.std_error.isnan().any().item<bool>()) return scores.std_error.sum().item<double>();
  const auto groups = static_cast<double>(scores.shared.size(0));
  return std::sqrt(scores.shared.mv(weights).square().sum().item<double>() * groups / (groups - 1.0));
}

DistinctItems distinct_items(const torch::Tensor& labels) {
  const auto rows = labels.to(torch::kCPU).contiguous();
  const int64_t N = rows.size(0);
  const auto hashes = item_seeds(rows, 0);
  std::unordered_multimap<uint64_t, int64_t> number_of;  // hash -> number among the distinct ones
  std::vector<int64_t> firsts;
  std::vector<int64_t> counts;
  auto place = torch::empty({N}, torch::kInt64);
  auto* at = place.data_ptr<int64_t>();
  for (int64_t k = 0; k < N; ++k) {
    at[k] = -1;
    const auto [begin, end] = number_of.equal_range(hashes[k]);
    for (auto found = begin; found != end && at[k] < 0; ++found)
      if (torch::equal(rows[firsts[found->second]], rows[k])) at[k] = found->second;
    if (at[k] < 0) {
      at[k] = static_cast<int64_t>(firsts.size());
      number_of.emplace(hashes[k], at[k]);
      firsts.push_back(k);
      counts.push_back(0);
    }
    ++counts[at[k]];
  }
  return {rows.index_select(0, torch::tensor(firsts, torch::kInt64)), torch::tensor(counts, torch::kInt64), place};
}

ItemScores repeat_scores(const ItemScores& scores, const torch::Tensor& place) {
  ItemScores out{scores.log_p.index_select(0, place), scores.std_error.index_select(0, place)};
  if (scores.integration.defined()) out.integration = scores.integration.index_select(0, place);
  if (scores.shared.defined()) out.shared = scores.shared.index_select(1, place);
  if (scores.cells.defined()) out.cells = scores.cells.index_select(0, place);
  return out;
}

torch::Tensor stratified_error(const torch::Tensor& values) {
  const auto strata = values.view({values.size(0), -1, 2});
  const auto n_strata = static_cast<double>(strata.size(1));
  // The mean of two independent values has the variance (difference / 2)^2 on average.
  const auto variance = (strata.select(2, 0) - strata.select(2, 1)).square().sum(1) / (4.0 * n_strata * n_strata);
  return variance.sqrt();
}

std::vector<uint64_t> item_seeds(const torch::Tensor& labels, uint64_t seed) {
  const auto rows = labels.to(torch::kCPU, torch::kInt64).contiguous();
  const int64_t n = rows.size(1);
  const auto* at = rows.data_ptr<int64_t>();
  std::vector<uint64_t> seeds(rows.size(0));
  for (uint64_t& item : seeds) {
    item = mix_bits(seed);
    for (int64_t i = 0; i < n; ++i) item = mix_bits(item ^ static_cast<uint64_t>(*at++));
  }
  return seeds;
}

}  // namespace segre
