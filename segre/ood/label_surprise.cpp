#include "segre/ood/label_surprise.h"

#include <algorithm>
#include <limits>

#include "segre/core/deadline.h"
#include "segre/core/parallel.h"
#include "segre/core/rng.h"
#include "segre/data/label_counts.h"
#include "segre/flow/row_blocks.h"
#include "segre/likelihood/refine.h"
#include "segre/likelihood/scores.h"
#include "segre/path/path_sample.h"
#include "segre/path/simplex.h"
#include "segre/space/blocks.h"

namespace segre {
namespace {

constexpr int64_t kFirstDraws = 64;  // evaluations, two per pair

// Sums over antithetic pairs of each label's log-probability given the others, and of its square: [N, n].
struct Sums {
  torch::Tensor value, square;
  torch::Tensor pairs;  // [N] float64
};

// log P(label | state) [R, S]. The velocity form has only D, whose probabilities carry its rounding.
torch::Tensor log_label_probabilities(const Flow& flow, const State& state) {
  if (flow.log_marginals) return flow.log_marginals(state);
  constexpr double kRounding = 1e-6;
  return label_probabilities(flow.space, *flow.path, flow.endpoint(state)).clamp_min(kRounding).log();
}

// log p(x_i | v without v_i) of the labels [R, n] for states v [R, S] at one time: [R, n] float64 on the CPU.
torch::Tensor told_by_others(const Flow& flow, const torch::Tensor& v, double time, const torch::Tensor& labels) {
  const auto t = torch::full({v.size(0)}, time, flow.options);
  const auto others =
      log_lift(flow.space, log_label_probabilities(flow, {v, t}) - evidence_scale(flow.space, *flow.path, t) * v);
  return others.to(torch::kCPU, torch::kFloat64).gather(1, labels + flow.space.starts(torch::kCPU));
}

class Draws {
 public:
  Draws(const Flow& flow, torch::Tensor labels, const LabelSurpriseOptions& options, uint64_t seed)
      : flow_(flow),
        labels_(std::move(labels)),
        ranks_(options.ranks),
        seeds_(item_seeds(labels_, seed)),
        time_(flow.path->time_at(LabelSurprise::kStrength / flow.path->corner_scale(flow.space.max_labels()))) {
    const auto zeros = torch::zeros(labels_.sizes(), torch::kFloat64);
    sums_ = {zeros, zeros.clone(), torch::zeros({labels_.size(0)}, torch::kFloat64)};
  }

  // Adds `count` evaluations, an even number, to these rows, each of which has had `before`. Ranks share the rows.
  void add(const torch::Tensor& rows, int64_t before, int64_t count) {
    const int64_t at_once = std::max<int64_t>(1, rows_per_block(flow_) / count);
    const SharedRows shared(ranks_, rows.numel(), at_once);
    const auto [from, to] = shared.own();
    const int64_t n_parts = (to - from + at_once - 1) / at_once;
    std::vector<torch::Tensor> sums(n_parts + 1);
    sums[n_parts] = torch::empty({0, 2, labels_.size(1)}, torch::kFloat64);
    for_each_block(n_parts, flow_.options.device().is_cpu(), [&, from = from, to = to](int64_t k) {
      const torch::NoGradGuard no_grad;
      const int64_t first = from + k * at_once;
      const auto told = pairs_of(rows.slice(0, first, std::min(first + at_once, to)), before / 2, count / 2);
      sums[k] = torch::stack({told.sum(1), told.square().sum(1)}, 1);
    });
    const auto all = shared.gather(torch::cat(sums));  // [rows, 2, n]
    sums_.value.index_add_(0, rows, all.select(1, 0));
    sums_.square.index_add_(0, rows, all.select(1, 1));
    sums_.pairs.index_add_(0, rows, torch::full({rows.numel()}, static_cast<double>(count / 2), torch::kFloat64));
  }
  const Sums& sums() const { return sums_; }

 private:
  // Means of the antithetic pairs first ... first + count - 1 of a few rows: [rows, count, n].
  torch::Tensor pairs_of(const torch::Tensor& rows, int64_t first, int64_t count) const {
    std::vector<torch::Tensor> noise;
    for (int64_t k = 0; k < rows.numel(); ++k) {
      const uint64_t seed = seeds_[static_cast<size_t>(rows[k].item<int64_t>())];
      noise.push_back(reference_noise(flow_.space, {seed, Purpose::likelihood_noise}, static_cast<uint64_t>(first),
                                      count, flow_.options));
    }
    const auto z = torch::stack(noise);  // [rows, count, S]
    const auto labels = labels_.index_select(0, rows).repeat_interleave(2 * count, 0);
    const auto at = flow_.path->at(time_);
    const auto v = at.a * corners(flow_.space, *flow_.path, labels.to(flow_.options.device()), flow_.options) +
                   at.s * torch::stack({z, -z}, 2).view({-1, z.size(2)});
    return told_by_others(flow_, v, time_, labels).view({rows.numel(), count, 2, -1}).mean(2);
  }

  Flow flow_;
  torch::Tensor labels_;
  std::shared_ptr<Ranks> ranks_;
  std::vector<uint64_t> seeds_;
  double time_;
  Sums sums_;
};

// Sum of squared deviations from the mean.
torch::Tensor scatter_of(const Sums& sums) {
  return (sums.square - sums.value.square() / sums.pairs.unsqueeze(1).clamp_min(1.0)).clamp_min(0.0);
}

// The spread of the pairs is that in these and in the trial together: pairs that all miss a tail have a mean and a
// spread that err together, but the trial's spread knows nothing of this mean.
LabelSurprise surprise_of(const Sums& sums, const Sums& trial, const torch::Tensor& shares) {
  const auto means = (sums.pairs > 0.0).to(torch::kFloat64) + (trial.pairs > 0.0).to(torch::kFloat64);
  const auto variance = (scatter_of(sums) + scatter_of(trial)) / (sums.pairs + trial.pairs - means).unsqueeze(1);
  const auto pairs = sums.pairs.unsqueeze(1);
  return {shares - sums.value / pairs, (variance / pairs).sqrt(), (2.0 * sums.pairs).to(torch::kInt64)};
}

// Nothing drawn yet.
Sums nothing_like(const Sums& sums) {
  return {torch::zeros_like(sums.value), torch::zeros_like(sums.square), torch::zeros_like(sums.pairs)};
}

// Counts evaluations done and to be done.
class Count {
 public:
  Count(const std::function<void(int64_t done, int64_t total)>& on_progress, int64_t total)
      : on_progress_(on_progress), total_(total) {}
  void add(int64_t evaluations) {
    done_ += evaluations;
    if (on_progress_) on_progress_(done_, std::max(done_, total_));
  }
  // So many are left.
  void set_left(double evaluations) { total_ = done_ + static_cast<int64_t>(evaluations); }

 private:
  const std::function<void(int64_t done, int64_t total)>& on_progress_;
  int64_t total_;
  int64_t done_ = 0;
};

// The surprises of all rows, and how many evaluations each of them gets.
class Surprises {
 public:
  Surprises(const Flow& flow, const torch::Tensor& counts, const torch::Tensor& labels,
            const LabelSurpriseOptions& options, const std::function<void(int64_t done, int64_t total)>& on_progress)
      : space_(flow.space),
        options_(options),
        n_rows_(labels.size(0)),
        shares_(-label_nats(flow.space, counts)
                     .index_select(0, (labels + flow.space.starts(torch::kCPU)).flatten())
                     .view(labels.sizes())),
        draws_(flow, labels, options, options.seed),
        trial_(flow, labels, options, trial_seed(options.seed)),
        wanted_(torch::zeros({n_rows_}, torch::kFloat64)),
        count_(on_progress,
               kFirstDraws * n_rows_ + (kFirstDraws + kGuess) * (options.sharp > 0 ? options.sharp : n_rows_)) {}

  LabelSurprise operator()() {
    const auto all = torch::arange(n_rows_, torch::kInt64);
    const bool has_trial = options_.most > kFirstDraws;
    add(draws_, all, 0);
    const auto rows = rows_that_matter(all);
    bool out_of_time = false;
    try {
      if (has_trial) add(trial_, rows, 0);
      if (has_trial)
        refine(trial_, rows, options_.most / kTrialPart, [this](int64_t spent) { return count_wanted(spent); });
      count_.set_left(
          (wanted_.index_select(0, rows) - static_cast<double>(kFirstDraws)).clamp_min(0.0).sum().item<double>());
      refine(draws_, rows, options_.most, [this](int64_t spent) { return is_open(spent); });
    } catch (const DeadlineExceeded&) {
      if (options_.ranks->are_many()) throw;  // the others may be further
      out_of_time = true;
    }
    LabelSurprise out = surprise_of(draws_.sums(), trial_.sums(), shares_);
    out.refined = torch::zeros({n_rows_}, torch::kBool).index_fill_(0, rows, true);
    out.out_of_time = out_of_time;
    return out;
  }

 private:
  static constexpr int64_t kGuess = 1024;  // evaluations of a row beyond the first, for the time left

  // Gives these rows, which have had `spent` evaluations, as many again, or the first.
  void add(Draws& draws, const torch::Tensor& rows, int64_t spent) {
    const int64_t at_once = 256 * options_.ranks->size();  // between two reports; whole batches of Draws::add
    const int64_t count = std::max(spent, kFirstDraws);
    for (const auto& part : rows.split(at_once)) {
      draws.add(part, spent, count);
      count_.add(part.numel() * count);
    }
  }

  // Doubles the evaluations of the rows that `wants` names, [N] bool, again and again up to `most`.
  void refine(Draws& draws, torch::Tensor rows, int64_t most,
              const std::function<torch::Tensor(int64_t spent)>& wants) {
    for (int64_t spent = kFirstDraws;; spent *= 2) {
      rows = rows.index_select(0, wants(spent).index_select(0, rows).nonzero().squeeze(1));
      if (rows.numel() == 0 || 2 * spent > most) return;
      add(draws, rows, spent);
    }
  }

  // Those that may be among the `sharp` with the largest surprises, judged by the first evaluations. These are averaged
  // in, but they are few of those that the rows get.
  torch::Tensor rows_that_matter(const torch::Tensor& all) const {
    constexpr double kErrors = 2.0;
    if (options_.sharp <= 0 || options_.sharp >= n_rows_) return all;
    const auto found = largest(space_, surprise_of(draws_.sums(), trial_.sums(), shares_));
    const auto least = std::get<0>(found.value.topk(options_.sharp)).min();
    return (found.value + kErrors * found.std_error >= least).nonzero().squeeze(1);
  }

  // How many evaluations the rows need, from those of the trial alone; which of them need a longer trial to tell.
  torch::Tensor count_wanted(int64_t spent) {
    const Sums& of_trial = trial_.sums();
    const auto error = largest(space_, surprise_of(of_trial, nothing_like(of_trial), shares_)).std_error;
    wanted_ = 2.0 * of_trial.pairs * (error / options_.error).square() * kItemMargin;
    return wanted_ > static_cast<double>(kTrialPart * spent);
  }

  torch::Tensor is_open(int64_t spent) const {
    const auto error = largest(space_, surprise_of(draws_.sums(), trial_.sums(), shares_)).std_error;
    return (wanted_ > static_cast<double>(spent)).logical_or(error > options_.error);
  }

  Space space_;
  LabelSurpriseOptions options_;
  int64_t n_rows_;
  torch::Tensor shares_;  // [N, n]
  Draws draws_;
  Draws trial_;
  torch::Tensor wanted_;  // [N] evaluations
  Count count_;
};

}  // namespace

LabelSurprise label_surprise(const Flow& flow, const torch::Tensor& counts, const torch::Tensor& labels,
                             const LabelSurpriseOptions& options,
                             const std::function<void(int64_t done, int64_t total)>& on_progress) {
  return Surprises(flow, counts, labels, options, on_progress)();
}

LargestSurprise largest(const Space& space, const LabelSurprise& surprise) {
  auto varies = torch::empty({space.n_variables()}, torch::kBool);
  for (int64_t i = 0; i < space.n_variables(); ++i) varies[i] = space.n_labels(i) > 1;
  const auto least = torch::full({1}, std::numeric_limits<double>::lowest(), torch::kFloat64);
  const auto variable = std::get<1>(torch::where(varies, surprise.mean, least).max(1));
  return {surprise.mean.gather(1, variable.unsqueeze(1)).squeeze(1),
          surprise.std_error.gather(1, variable.unsqueeze(1)).squeeze(1), variable};
}

}  // namespace segre
