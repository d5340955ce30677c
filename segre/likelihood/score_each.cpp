#include "segre/likelihood/score_each.h"

#include <algorithm>
#include <limits>

#include "segre/core/rng.h"

namespace segre {
namespace {

// Evaluations of each item and the sums behind its score, an average weighted by evaluations: [K] each.
class Sums {
 public:
  explicit Sums(int64_t n_items)
      : log_p_(torch::zeros({n_items}, torch::kFloat64)),
        variance_(torch::zeros_like(log_p_)),
        spent_(torch::zeros_like(log_p_)) {}

  // `count` more evaluations of these items gave these scores.
  void add(const torch::Tensor& rows, const ItemScores& scores, int64_t count) {
    const auto weight = static_cast<double>(count);
    log_p_.index_add_(0, rows, weight * scores.log_p);
    variance_.index_add_(0, rows, (weight * scores.std_error).square());
    spent_.index_add_(0, rows, torch::full({rows.numel()}, weight, torch::kFloat64));
  }
  torch::Tensor log_p() const { return log_p_ / spent_; }
  const torch::Tensor& spent() const { return spent_; }

  // Standard errors of these scores. The spread of the evaluations is that in these and in others of the same items:
  // evaluations that all miss a tail have a mean and a spread that err together, but others know nothing of this mean.
  torch::Tensor std_error(const Sums& others) const {
    return ((variance_ + others.variance_) / (spent_ + others.spent_) / spent_).sqrt();
  }

 private:
  torch::Tensor log_p_;     // times the number of evaluations
  torch::Tensor variance_;  // of log_p_
  torch::Tensor spent_;
};

// Scores items in rounds, each with noise of its own.
struct Scorer {
  std::function<std::unique_ptr<Refinement>(const torch::Tensor& rows, uint64_t seed)> of_items;
  int64_t n_items;
  int64_t first;     // evaluations in the first round
  double cost_each;  // of one evaluation of one item, in numbers of the network
  const OnProgress& on_progress;

  // Gives every item `first` evaluations, then those that `wants` names, [K] bool, as many again as they have had, and
  // again, up to `most` and, after the first round, as long as they do not cost more than `budget` together.
  void refine(Sums& sums, uint64_t seed, int64_t most, double budget,
              const std::function<torch::Tensor(int64_t spent)>& wants) const {
    auto rows = torch::arange(n_items, torch::kInt64);
    int64_t spent = 0;
    for (int64_t k = 0; rows.numel() > 0; ++k) {
      const auto round = of_items(rows, round_seed(seed, -k));  // rounds over all items count upwards
      const int64_t count = k == 0 ? first : std::min(spent, (most - spent) / round->unit() * round->unit());
      budget -= cost_each * static_cast<double>(rows.numel() * count);
      if (count <= 0 || (k > 0 && budget < 0.0)) break;
      round->spend(count, on_progress);
      sums.add(rows, round->scores(), count);
      spent += count;
      rows = rows.index_select(0, wants(spent).index_select(0, rows).nonzero().squeeze(1));
    }
  }
};

}  // namespace

ReachedEach score_each(const Flow& flow, const TimeDensity& density, const FreeOptions& options,
                       const torch::Tensor& labels, const EachTarget& target, const OnProgress& on_progress,
                       const std::shared_ptr<Ranks>& ranks) {
  const auto of_items = [&](const torch::Tensor& rows, uint64_t seed) {
    FreeOptions own = options;
    own.seed = seed;
    return refine_free_bound(flow, density, own, labels.index_select(0, rows), ranks);
  };
  const int64_t n_items = labels.size(0);
  constexpr int64_t kNoLimit = int64_t{1} << 40;
  const int64_t most = target.most > 0 ? target.most : kNoLimit;
  const double budget = target.most > 0 ? std::numeric_limits<double>::max() : target.work;
  const double trial_budget = budget / static_cast<double>(kTrialPart + 1);
  const Scorer scorer{of_items, n_items, options.times, of_items(torch::zeros({1}, torch::kInt64), 0)->cost(),
                      on_progress};

  Sums sums(n_items), trial(n_items);
  auto wanted = torch::zeros({n_items}, torch::kFloat64);  // evaluations
  const auto count_wanted = [&](int64_t spent) {
    wanted = trial.spent() * (trial.std_error(sums) / target.error).square() * kItemMargin;
    return wanted > static_cast<double>(kTrialPart * spent);
  };
  if (most > options.times)
    scorer.refine(trial, trial_seed(options.seed), most / kTrialPart, trial_budget, count_wanted);
  const auto is_open = [&](int64_t spent) {
    return (wanted > static_cast<double>(spent)).logical_or(sums.std_error(trial) > target.error);
  };
  scorer.refine(sums, options.seed, most, budget - trial_budget, is_open);
  const auto error = sums.std_error(trial);
  return {.scores = {.log_p = sums.log_p(), .std_error = error},
          .spent = sums.spent().to(torch::kInt64),
          .capped = (error > target.error).any().item<bool>()};
}

}  // namespace segre
