#include "segre/likelihood/scores.h"

#include <cmath>
#include <iomanip>
#include <limits>
#include <numbers>
#include <sstream>
#include <unordered_map>

#include "segre/core/error.h"
#include "segre/core/rng.h"

namespace segre {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// For sum_k weights_k log_p_k: the bias common to all items, and what differs from item to item.
double integration_error_of_sum(const ItemScores& scores, const torch::Tensor& weights) {
  if (!scores.integration.defined()) return 0.0;
  const auto parts = weights * scores.integration;
  return std::hypot(parts.sum().item<double>(), parts.square().sum().sqrt().item<double>());
}

// Standard error of the mean of N items drawn from a population. The scores' spread is that of the items plus that of
// the estimates; if items repeat and so share their errors, only the first falls with the number of items.
double error_of_sampling(const ItemScores& scores, const torch::Tensor& share, double N, double estimation) {
  if (N < 2.0) return kUnknown;
  const double mean = (share * scores.log_p).sum().item<double>();
  const double spread = (share * (scores.log_p - mean).square()).sum().item<double>() * N / (N - 1.0);
  if (std::isnan(estimation)) return std::sqrt(spread * share.square().sum().item<double>());
  const double by_chance = (share * scores.std_error.square()).sum().item<double>();
  return std::sqrt(std::max(0.0, spread - by_chance) / N + estimation * estimation);
}

}  // namespace

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

double ScoreSummary::total_error() const {
  return std::hypot(std::isnan(estimation_error) ? sampling_error : estimation_error, integration_error);
}

ScoreSummary summarise(const ItemScores& scores, const Space& space, const torch::Tensor& counts) {
  const int64_t K = scores.log_p.size(0);
  if (K == 0) fail_input("there are no items to score");
  const auto times = counts.defined() ? counts.to(torch::kFloat64) : torch::ones({K}, torch::kFloat64);
  const double N = times.sum().item<double>();
  const auto share = times / N;
  const double estimation = error_of_sum(scores, share);
  return {.n_items = static_cast<int64_t>(N),
          .n_distinct = K,
          .n_variables = static_cast<double>(space.n_variables()),
          .log_p = (share * scores.log_p).sum().item<double>(),
          .sampling_error = error_of_sampling(scores, share, N, estimation),
          .estimation_error = estimation,
          .integration_error = integration_error_of_sum(scores, share)};
}

std::string describe(const ScoreSummary& s, ScoreKind kind) {
  const double bit = std::numbers::ln2;
  const double n = s.n_variables;
  std::ostringstream out;
  out << std::setprecision(6) << "-log p per item " << (kind == ScoreKind::lower_bound ? "at most " : "about ")
      << -s.log_p << " nats = " << -s.log_p / bit << " bits = " << -s.log_p / bit / n
      << " bits per variable (divided by " << s.n_variables << " variables)\n"
      << std::setprecision(3);
  const bool unknown = std::isnan(s.estimation_error);
  out << "standard error of estimation ";
  if (!unknown) out << s.estimation_error << " nats";
  if (unknown) out << "unknown";
  if (s.integration_error > 0.0) out << " by chance";
  if (unknown) out << " (too few draws)";
  if (s.integration_error > 0.0) out << ", " << s.integration_error << " by integration";
  if (s.n_items > 1) {
    out << "; " << std::hypot(s.sampling_error, s.integration_error) << " for the population from which these "
        << s.n_items << " items were drawn";
    if (s.n_distinct < s.n_items) out << " (" << s.n_distinct << " distinct)";
  }
  return out.str();
}

void require_possible(const ScoreSummary& s) {
  if (!std::isfinite(s.log_p)) fail("the scores are not finite: the network returned no usable numbers");
  // An unknown error excuses nothing.
  const double error = std::isnan(s.total_error()) ? 0.0 : s.total_error();
  if (s.log_p > 3.0 * error)
    fail("the mean of log p is ", s.log_p, " nats (standard error ", s.total_error(),
         "), impossible for a distribution of labels: not a bound. Raise panels, or use the exact trace");
}

void require_possible(const Measured& sum) {
  if (sum.value > 1.0 + 5.0 * sum.error)
    fail("the probabilities of all labelings sum to ", sum.value, " (standard error ", sum.error,
         "), more than 1: not a bound. Raise panels, or use the exact trace");
}

Measured sum_of_probabilities(const ItemScores& scores) {
  const auto p = scores.log_p.exp();
  const double integration = integration_error_of_sum(scores, p);
  ItemScores known = scores;
  // An unknown error counts as the whole value.
  known.std_error = torch::where(scores.std_error.isnan(), torch::ones_like(p), scores.std_error);
  // The exponential of an estimate is biased up by half its variance; direct estimates are of p itself.
  const double lean = scores.shared.defined() ? 0.0 : 0.5 * (p * known.std_error.square()).sum().item<double>();
  return {p.sum().item<double>(), std::hypot(error_of_sum(known, p), integration, lean)};
}

}  // namespace segre
