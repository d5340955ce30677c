#include "segre/likelihood/score_each.h"

#include <algorithm>
#include <limits>

#include "segre/core/deadline.h"
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
class Scorer {
 public:
  using OfItems = std::function<std::unique_ptr<Refinement>(const torch::Tensor& rows, uint64_t seed)>;
  using Wants = std::function<torch::Tensor(int64_t spent)>;
  // `first`: evaluations in the first round.
  Scorer(OfItems of_items, int64_t n_items, int64_t first, const OnProgress& on_progress)
      : of_items_(std::move(of_items)),
        all_(torch::arange(n_items, torch::kInt64)),
        first_(first),
        cost_each_(of_items_(torch::zeros({1}, torch::kInt64), 0)->cost()),
        on_progress_(on_progress),
        planned_(2 * first * n_items) {}

  // Gives every item the first evaluations.
  void start(Sums& sums, uint64_t seed) { round(sums, all_, seed, first_); }

  // After the first, gives the items that `wants` names, [K] bool, as many evaluations as they have had, and again, up
  // to `most` and as long as all do not cost more than `budget` together.
  void refine(Sums& sums, uint64_t seed, int64_t most, double budget, const Wants& wants) {
    auto rows = all_;
    int64_t spent = first_;
    budget -= cost_each_ * static_cast<double>(rows.numel() * first_);
    for (int64_t k = 1;; ++k) {
      rows = rows.index_select(0, wants(spent).index_select(0, rows).nonzero().squeeze(1));
      if (rows.numel() == 0) return;
      const int64_t unit = of_items_(rows, seed)->unit();
      const int64_t count = std::min(spent, (most - spent) / unit * unit);
      budget -= cost_each_ * static_cast<double>(rows.numel() * count);
      if (count <= 0 || budget < 0.0) return;
      round(sums, rows, round_seed(seed, -k), count);  // rounds over all items count upwards
      spent += count;
    }
  }

 private:
  void round(Sums& sums, const torch::Tensor& rows, uint64_t seed, int64_t count) {
    const auto items = of_items_(rows, seed);
    const int64_t all = rows.numel() * count;
    planned_ = std::max(planned_, done_ + all);
    items->spend(count, [&](int64_t done, int64_t total) {
      const double share = static_cast<double>(done) / static_cast<double>(std::max<int64_t>(1, total));
      if (on_progress_) on_progress_(done_ + static_cast<int64_t>(share * static_cast<double>(all)), planned_);
    });
    sums.add(rows, items->scores(), count);
    done_ += all;
  }

  OfItems of_items_;
  torch::Tensor all_;  // [K] 0, 1, ...
  int64_t first_;
  double cost_each_;  // of one evaluation of one item, in numbers of the network
  const OnProgress& on_progress_;
  int64_t planned_;   // evaluations of all items, as far as is known
  int64_t done_ = 0;  // of these
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
  Scorer scorer(of_items, n_items, options.times, on_progress);

  Sums sums(n_items), trial(n_items);
  const Sums none(n_items);
  auto wanted = torch::zeros({n_items}, torch::kFloat64);  // evaluations
  const auto count_wanted = [&](int64_t spent) {
    wanted = trial.spent() * (trial.std_error(none) / target.error).square() * kItemMargin;
    return wanted > static_cast<double>(kTrialPart * spent);
  };
  const auto is_open = [&](int64_t spent) {
    return (wanted > static_cast<double>(spent)).logical_or(sums.std_error(trial) > target.error);
  };
  const bool has_trial = most > options.times;
  if (has_trial) scorer.start(trial, trial_seed(options.seed));
  scorer.start(sums, options.seed);
  bool out_of_time = false;
  try {
    if (has_trial) scorer.refine(trial, trial_seed(options.seed), most / kTrialPart, trial_budget, count_wanted);
    scorer.refine(sums, options.seed, most, budget - trial_budget, is_open);
  } catch (const DeadlineExceeded&) {
    if (ranks->are_many()) throw;  // the others may be further
    out_of_time = true;
  }
  const auto error = sums.std_error(trial);
  return {.scores = {.log_p = sums.log_p(), .std_error = error},
          .spent = sums.spent().to(torch::kInt64),
          .capped = (error > target.error).any().item<bool>(),
          .out_of_time = out_of_time};
}

}  // namespace segre
