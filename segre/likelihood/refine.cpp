#include "segre/likelihood/refine.h"

#include <algorithm>
#include <cmath>

#include "segre/core/clock.h"
#include "segre/core/error.h"
#include "segre/core/parallel.h"
#include "segre/core/rng.h"
#include "segre/core/time_left.h"
#include "segre/likelihood/score_items.h"

namespace segre {
namespace {

// Rank 0's numbers for everyone: ranks on different processors may round an average differently or have other numbers
// of threads, but must spend and exchange the same.
torch::Tensor agreed(Ranks& ranks, const torch::Tensor& own) {
  auto numbers = own.to(torch::kCPU, /*non_blocking=*/false, /*copy=*/true);
  ranks.broadcast(numbers);
  return numbers;
}

int64_t agreed_count(Ranks& ranks, int64_t own) {
  return agreed(ranks, torch::full({1}, own, torch::kInt64)).item<int64_t>();
}

// Cost of one row, in numbers computed by two cores; even a tiny network takes some time.
double evaluation_cost(const Flow& flow) {
  constexpr int64_t kLeast = 2000;
  constexpr double kFasterOnCuda = 500.0;  // an H200 took 1.1 s for what is about ten minutes of two cores (digits)
  const auto numbers = static_cast<double>(kLeast + flow.n_activations + flow.space.n_coordinates());
  return flow.options.device().is_cpu() ? numbers : numbers / kFasterOnCuda;
}

// An estimate made of rounds with `count` evaluations per item and a seed each.
struct Round {
  std::function<ItemScores(const torch::Tensor& labels)> score;
  int64_t items_per_call;
};
struct Rounds {
  std::function<Round(int64_t count, uint64_t seed)> make;
  int64_t first;  // evaluations of the first round
  uint64_t seed;
  bool per_variable;
};

// Averages rounds, weighted by their evaluations.
class RoundsRefinement final : public Refinement {
 public:
  RoundsRefinement(Flow flow, Rounds rounds, ItemsOfRanks items)
      : flow_(std::move(flow)), rounds_(std::move(rounds)), items_(std::move(items)) {}

  std::unique_ptr<Refinement> trial() const override {
    Rounds other = rounds_;
    other.seed = trial_seed(rounds_.seed);
    return std::make_unique<RoundsRefinement>(flow_, std::move(other), items_);
  }
  void spend(int64_t count, const OnProgress& on_progress) override {
    const int64_t n_items = items_.count();
    const int64_t longest = longest_round();
    const int64_t n_rounds = (count + longest - 1) / longest;
    for (int64_t k = 0; k < n_rounds; ++k)
      add_round(std::min(longest, count - k * longest), [&](int64_t done, int64_t) {
        if (on_progress) on_progress(k * n_items + done, n_rounds * n_items);
      });
  }
  int64_t spent() const override { return spent_; }
  ItemScores scores() const override {
    const auto weight = static_cast<double>(spent_);
    ItemScores out{.log_p = sum_ / weight, .std_error = variance_.sqrt() / weight};
    if (cells_.defined()) out.cells = cells_ / weight;
    return out;
  }
  int64_t unit() const override { return 4; }
  int64_t first() const override { return rounds_.first; }
  double cost() const override { return evaluation_cost(flow_) * static_cast<double>(items_.count()); }

 private:
  // All evaluations of an item are in memory at once: some tens of megabytes.
  int64_t longest_round() const {
    constexpr int64_t kNumbers = int64_t{1} << 21;
    return std::max(unit(), kNumbers / flow_.space.n_coordinates() / unit() * unit());
  }

  void add_round(int64_t count, const OnProgress& on_progress) {
    const Round round = rounds_.make(count, round_seed(rounds_.seed, n_rounds_++));
    const int64_t n_cells = rounds_.per_variable ? flow_.space.n_variables() : 0;
    const ItemScores found =
        score_items(items_, kCallsAtOnce * round.items_per_call, n_cells, round.score, on_progress);
    const auto weight = static_cast<double>(count);
    const auto add = [&](torch::Tensor& total, const torch::Tensor& more) { total = spent_ > 0 ? total + more : more; };
    add(sum_, weight * found.log_p);
    add(variance_, (weight * found.std_error).square());
    if (found.cells.defined()) add(cells_, weight * found.cells);
    spent_ += count;
  }

  Flow flow_;
  Rounds rounds_;
  ItemsOfRanks items_;
  int64_t n_rounds_ = 0;
  int64_t spent_ = 0;
  torch::Tensor sum_, variance_;  // [K]
  torch::Tensor cells_;           // [K, n]
};

// The score of a fixed order: exact, so there is nothing to refine.
class FixedOrder final : public Refinement {
 public:
  FixedOrder(const Flow& flow, const OrderOptions& options, ItemsOfRanks items)
      : flow_(flow), options_(options), bound_(flow, options), items_(std::move(items)) {}

  std::unique_ptr<Refinement> trial() const override { return std::make_unique<FixedOrder>(flow_, options_, items_); }
  bool is_exact() const override { return true; }
  void spend(int64_t /*count*/, const OnProgress& on_progress) override {
    if (is_done_) fail("the likelihood of one order is exact and cannot be refined");
    const int64_t n_cells = options_.per_variable ? flow_.space.n_variables() : 0;
    scores_ = score_items(
        items_, bound_.items_per_call(), n_cells, [&](const torch::Tensor& part) { return bound_(part); }, on_progress);
    is_done_ = true;
  }
  int64_t spent() const override { return is_done_ ? bound_.evaluations() : 0; }
  ItemScores scores() const override { return scores_; }
  int64_t first() const override { return bound_.evaluations(); }
  double cost() const override {
    return evaluation_cost(flow_) * static_cast<double>(items_.count()) * static_cast<double>(bound_.evaluations());
  }

 private:
  Flow flow_;
  OrderOptions options_;
  OrderBound bound_;
  ItemsOfRanks items_;
  ItemScores scores_;
  bool is_done_ = false;
};

class FlowRefinement final : public Refinement {
 public:
  FlowRefinement(const Flow& flow, const FlowBoundOptions& options, bool log_mean, ItemsOfRanks items)
      : flow_(flow), bound_(flow, options), log_mean_(log_mean), items_(std::move(items)) {
    if (log_mean) require_exact_trace(options.trace);
  }

  std::unique_ptr<Refinement> trial() const override {
    FlowBoundOptions other = bound_.options();
    other.seed = trial_seed(other.seed);
    return std::make_unique<FlowRefinement>(flow_, other, log_mean_, items_);
  }
  void spend(int64_t count, const OnProgress& on_progress) override {
    // On the CPU one item per thread, on a GPU some thousand rows.
    const int64_t together = flow_.options.device().is_cpu() ? n_threads() : std::max<int64_t>(1, 4096 / count);
    const auto draw = [&](const torch::Tensor& part) {
      const LogWeights drawn = bound_.draws(part, spent_, count);
      return torch::cat({drawn.values, drawn.distances, drawn.trajectory.unsqueeze(1)}, 1);
    };
    const auto columns = columns_of_items(items_, together, 2 * count + 1, draw, on_progress);
    const LogWeights found{.values = columns.slice(1, 0, count).contiguous(),
                           .distances = columns.slice(1, count, 2 * count).contiguous(),
                           .trajectory = columns.select(1, 2 * count).contiguous(),
                           .trace = bound_.options().trace};
    weights_ = spent_ > 0 ? join_draws(weights_, found) : found;
    spent_ += count;
  }
  int64_t spent() const override { return spent_; }
  ItemScores scores() const override { return log_mean_ ? log_mean_of_weights(weights_) : mean_of_weights(weights_); }
  int64_t first() const override { return bound_.options().draws; }
  double cost() const override {
    return evaluation_cost(flow_) * static_cast<double>(items_.count()) *
           static_cast<double>(bound_.evaluations_per_draw());
  }

 private:
  Flow flow_;
  FlowBound bound_;
  bool log_mean_;
  ItemsOfRanks items_;
  int64_t spent_ = 0;
  LogWeights weights_;
};

class DirectRefinement final : public Refinement {
 public:
  DirectRefinement(const Flow& flow, const DirectOptions& options, const ItemsOfRanks& items)
      : flow_(flow), options_(options), items_(items), simulation_(flow, items.labels, options, items.ranks) {}

  std::unique_ptr<Refinement> trial() const override {
    DirectOptions other = options_;
    other.seed = trial_seed(options_.seed);
    return std::make_unique<DirectRefinement>(flow_, other, items_);
  }
  void spend(int64_t count, const OnProgress& on_progress) override {
    const int64_t per_call = rows_per_block(flow_) * agreed_count(*items_.ranks, n_threads() * items_.ranks->size());
    for (int64_t done = 0; done < count; done += per_call) {
      simulation_.add(std::min(per_call, count - done));
      if (on_progress) on_progress(std::min(count, done + per_call), count);
    }
  }
  int64_t spent() const override { return simulation_.draws(); }
  ItemScores scores() const override { return simulation_.scores(); }
  int64_t first() const override { return options_.draws; }
  double cost() const override {
    return evaluation_cost(flow_) * static_cast<double>(DirectSimulation::kEvaluationsPerDraw);
  }

 private:
  Flow flow_;
  DirectOptions options_;
  ItemsOfRanks items_;
  DirectSimulation simulation_;
};

// Spend more than the error of a trial suggests, since that is an estimate too.
constexpr double kMargin = 1.4;
constexpr double kUnknownFactor = 4.0;  // while the error is unknown
constexpr double kNear = 1.25;          // errors up to so many times the target are brought to it

int64_t rounded_up(const Refinement& refinement, int64_t count) {
  return (count + refinement.unit() - 1) / refinement.unit() * refinement.unit();
}

// How many evaluations the target needs, `most` at most, if these gave this state.
int64_t wanted_count(const Refinement& refinement, const ErrorTarget::State& state, int64_t most) {
  const double ratio = state.error / state.wanted;
  const double factor = std::isfinite(ratio) ? ratio * ratio * kMargin : kUnknownFactor;
  const double wanted = static_cast<double>(refinement.spent()) * factor;
  return static_cast<int64_t>(std::min(wanted, static_cast<double>(most)));
}

ErrorTarget::State agreed_state(Ranks& ranks, const ErrorTarget::State& own) {
  const auto numbers = agreed(ranks, torch::tensor({own.error, own.wanted}, torch::kFloat64));
  return {numbers[0].item<double>(), numbers[1].item<double>()};
}

// The error is itself an estimate: with few evaluations of few items it may be far too small and stop the work too
// early. Fewer items get a longer first round.
constexpr double kFirstItems = 64.0;

int64_t first_round(const Refinement& refinement, const ErrorTarget& target, int64_t most) {
  const double factor = std::clamp(kFirstItems / target.n_effective, 1.0, kFirstItems);
  const auto count = static_cast<int64_t>(std::ceil(factor * static_cast<double>(refinement.first())));
  const int64_t unit = refinement.unit();
  return std::min(rounded_up(refinement, count), std::max(refinement.first(), most / unit * unit));
}

// What the time until the deadline affords, at the pace so far.
class TimeAllowed {
 public:
  explicit TimeAllowed(std::shared_ptr<Ranks> ranks) : ranks_(std::move(ranks)) {}

  // How many evaluations fit, besides a trial of a kTrialPart of them of which `spent` are done.
  int64_t count(int64_t spent) const {
    constexpr double kShare = 0.8;  // of the time left: the pace is an estimate
    constexpr double kNoLimit = 9e15;
    const double pace = static_cast<double>(spent) / std::max(1e-9, now_seconds() - start_);
    const double fits = (kShare * std::max(0.0, seconds_left()) * pace + static_cast<double>(spent)) /
                        (1.0 + 1.0 / static_cast<double>(kTrialPart));
    return agreed_count(*ranks_, static_cast<int64_t>(std::min(fits, kNoLimit)));
  }

 private:
  std::shared_ptr<Ranks> ranks_;
  double start_ = now_seconds();
};

// How many evaluations to spend, and whether time allows no more.
struct Planned {
  int64_t count;
  bool limited = false;
};

// How many evaluations the target needs, from `least` to `most`, found with others, or how many the time allows.
Planned count_by_trial(const Refinement& refinement, const ErrorTarget& target, int64_t least, int64_t most,
                       const OnProgress& on_progress, const std::shared_ptr<Ranks>& ranks) {
  constexpr int64_t kFewest = 4;  // whose spread is known
  const TimeAllowed time(ranks);
  const auto trial = refinement.trial();
  for (int64_t more = std::max(kFewest, least / kTrialPart); more > 0;) {
    trial->spend(rounded_up(refinement, more), on_progress);
    const auto state = agreed_state(*ranks, target.measure(trial->scores()));
    const int64_t wanted = wanted_count(*trial, state, most);
    const int64_t allowed = time.count(trial->spent());
    const int64_t count = std::max(std::min(wanted, allowed), least);
    more = count / kTrialPart - trial->spent();
    if (more <= 0) return {rounded_up(refinement, count), /*limited=*/count < wanted};
  }
  return {least};
}

// Spends `count` evaluations in equal parts, of which those before the deadline count. Returns whether it came.
bool spend_until_deadline(Refinement& refinement, int64_t count, int64_t n_parts, const OnProgress& on_progress,
                          Ranks& ranks) {
  const int64_t part = rounded_up(refinement, std::max(refinement.first(), (count + n_parts - 1) / n_parts));
  const int64_t in_all = (count + part - 1) / part;
  try {
    for (int64_t k = 0; k < in_all; ++k)
      refinement.spend(n_parts > 1 ? part : count, [&](int64_t done, int64_t total) {
        if (on_progress) on_progress(k * total + done, in_all * total);
      });
  } catch (const DeadlineExceeded&) {
    if (refinement.spent() == 0 || ranks.are_many()) throw;  // nothing to show, or the others may be further
    return true;
  }
  return false;
}

}  // namespace

std::unique_ptr<Refinement> refine_free_bound(const Flow& flow, const TimeDensity& density, const FreeOptions& options,
                                              const torch::Tensor& labels, const std::shared_ptr<Ranks>& ranks) {
  const auto make = [flow, density, options](int64_t count, uint64_t seed) -> Round {
    FreeOptions own = options;
    own.times = count;
    own.seed = seed;
    const auto bound = std::make_shared<FreeBound>(flow, density, own);
    return {[bound](const torch::Tensor& part) { return (*bound)(part); }, bound->items_per_call()};
  };
  const Rounds rounds{make, options.times, options.seed, options.per_variable};
  return std::make_unique<RoundsRefinement>(flow, rounds, ItemsOfRanks{labels, ranks});
}

std::unique_ptr<Refinement> refine_order_bound(const Flow& flow, const OrderOptions& options,
                                               const torch::Tensor& labels, const std::shared_ptr<Ranks>& ranks) {
  if (options.order != LabelOrder::any) return std::make_unique<FixedOrder>(flow, options, ItemsOfRanks{labels, ranks});
  const auto make = [flow, options](int64_t count, uint64_t seed) -> Round {
    OrderOptions own = options;
    own.times = count;
    own.seed = seed;
    const auto bound = std::make_shared<OrderBound>(flow, own);
    return {[bound](const torch::Tensor& part) { return (*bound)(part); }, bound->items_per_call()};
  };
  const Rounds rounds{make, options.times, options.seed, options.per_variable};
  return std::make_unique<RoundsRefinement>(flow, rounds, ItemsOfRanks{labels, ranks});
}

std::unique_ptr<Refinement> refine_flow_bound(const Flow& flow, const FlowBoundOptions& options, bool log_mean,
                                              const torch::Tensor& labels, const std::shared_ptr<Ranks>& ranks) {
  return std::make_unique<FlowRefinement>(flow, options, log_mean, ItemsOfRanks{labels, ranks});
}

std::unique_ptr<Refinement> refine_direct(const Flow& flow, const DirectOptions& options, const torch::Tensor& labels,
                                          const std::shared_ptr<Ranks>& ranks) {
  return std::make_unique<DirectRefinement>(flow, options, ItemsOfRanks{labels, ranks});
}

Reached reach_error(Refinement& refinement, const ErrorTarget& target, const OnProgress& on_progress,
                    const std::shared_ptr<Ranks>& ranks) {
  const double affordable = std::min(9e15, ErrorTarget::kWork / std::max(1.0, refinement.cost()));
  const int64_t most = std::max(refinement.first(), target.most > 0 ? target.most : static_cast<int64_t>(affordable));
  const int64_t least = agreed_count(*ranks, first_round(refinement, target, most));
  const bool is_open = least < most && !refinement.is_exact();
  const Planned planned =
      is_open ? count_by_trial(refinement, target, least, most, on_progress, ranks) : Planned{least};
  constexpr int64_t kParts = 8;  // of work that may not be done in time
  bool late = spend_until_deadline(refinement, planned.count, planned.limited ? kParts : 1, on_progress, *ranks);
  late = late || planned.limited;
  for (;;) {
    const auto state = agreed_state(*ranks, target.measure(refinement.scores()));
    if (state.error <= state.wanted) return {refinement.spent(), state, /*capped=*/false};
    const bool is_far = state.error > kNear * state.wanted;
    const int64_t more =
        is_far || late ? 0 : rounded_up(refinement, wanted_count(refinement, state, most) - refinement.spent());
    if (more <= 0) return {refinement.spent(), state, /*capped=*/refinement.spent() >= most, /*out_of_time=*/late};
    late = spend_until_deadline(refinement, more, /*n_parts=*/1, on_progress, *ranks);
  }
}

}  // namespace segre
