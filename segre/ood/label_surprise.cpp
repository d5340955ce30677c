#include "segre/ood/label_surprise.h"

#include <algorithm>
#include <limits>

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
    std::vector<torch::Tensor> sums{torch::empty({0, 2, labels_.size(1)}, torch::kFloat64)};
    for (int64_t from = shared.own().from; from < shared.own().to; from += at_once) {
      const auto part = rows.slice(0, from, std::min(from + at_once, shared.own().to));
      const auto told = pairs_of(part, before / 2, count / 2);
      sums.push_back(torch::stack({told.sum(1), told.square().sum(1)}, 1));
    }
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

// Gives every row kFirstDraws evaluations, then those that `wants` names, [N] bool, as many again as they have had, and
// again, up to `most`.
void refine(Draws& draws, int64_t n_rows, int64_t most, int64_t rows_at_once,
            const std::function<torch::Tensor(int64_t spent)>& wants,
            const std::function<void(int64_t done, int64_t total)>& on_progress) {
  auto rows = torch::arange(n_rows, torch::kInt64);
  int64_t spent = 0;
  for (int64_t count = kFirstDraws; rows.numel() > 0 && spent + count <= std::max(most, kFirstDraws); count = spent) {
    for (const auto& part : rows.split(rows_at_once)) {
      draws.add(part, spent, count);
      if (on_progress) on_progress(part[-1].item<int64_t>() + 1, n_rows);
    }
    spent += count;
    rows = rows.index_select(0, wants(spent).index_select(0, rows).nonzero().squeeze(1));
  }
}

}  // namespace

LabelSurprise label_surprise(const Flow& flow, const torch::Tensor& counts, const torch::Tensor& labels,
                             const LabelSurpriseOptions& options,
                             const std::function<void(int64_t done, int64_t total)>& on_progress) {
  const int64_t n_rows = labels.size(0);
  const int64_t rows_at_once = 256 * options.ranks->size();  // between two reports; whole batches of Draws::add
  const auto places = labels + flow.space.starts(torch::kCPU);
  const auto shares = -label_nats(flow.space, counts).index_select(0, places.flatten()).view(labels.sizes());
  Draws draws(flow, labels, options, options.seed);
  Draws trial(flow, labels, options, trial_seed(options.seed));
  auto wanted = torch::zeros({n_rows}, torch::kFloat64);  // evaluations
  const auto count_wanted = [&](int64_t spent) {
    const auto error = largest(flow.space, surprise_of(trial.sums(), draws.sums(), shares)).std_error;
    wanted = 2.0 * trial.sums().pairs * (error / options.error).square() * kItemMargin;
    return wanted > static_cast<double>(kTrialPart * spent);
  };
  if (options.most > kFirstDraws)
    refine(trial, n_rows, options.most / kTrialPart, rows_at_once, count_wanted, on_progress);
  const auto is_open = [&](int64_t spent) {
    const auto error = largest(flow.space, surprise_of(draws.sums(), trial.sums(), shares)).std_error;
    return (wanted > static_cast<double>(spent)).logical_or(error > options.error);
  };
  refine(draws, n_rows, options.most, rows_at_once, is_open, on_progress);
  return surprise_of(draws.sums(), trial.sums(), shares);
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
