#include "segre/ood/label_surprise.h"

#include <algorithm>

#include "segre/core/rng.h"
#include "segre/flow/row_blocks.h"
#include "segre/flow/shared_rows.h"
#include "segre/likelihood/scores.h"
#include "segre/ood/measures.h"
#include "segre/path/path_sample.h"
#include "segre/simplex/lift.h"
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
  Draws(const Flow& flow, torch::Tensor labels, const LabelSurpriseOptions& options)
      : flow_(flow),
        labels_(std::move(labels)),
        ranks_(options.ranks),
        seeds_(item_seeds(labels_, options.seed)),
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

LabelSurprise surprise_of(const Sums& sums, const torch::Tensor& shares) {
  const auto pairs = sums.pairs.unsqueeze(1);
  const auto mean = sums.value / pairs;
  const auto variance = (sums.square / pairs - mean.square()).clamp_min(0.0) / (pairs - 1.0);
  return {shares - mean, variance.sqrt(), (2.0 * sums.pairs).to(torch::kInt64)};
}

}  // namespace

LabelSurprise label_surprise(const Flow& flow, const torch::Tensor& counts, const torch::Tensor& labels,
                             const LabelSurpriseOptions& options,
                             const std::function<void(int64_t done, int64_t total)>& on_progress) {
  const auto places = labels + flow.space.starts(torch::kCPU);
  const auto shares = -label_nats(flow.space, counts).index_select(0, places.flatten()).view(labels.sizes());
  Draws draws(flow, labels, options);
  auto rows = torch::arange(labels.size(0), torch::kInt64);
  int64_t spent = 0;
  for (int64_t count = kFirstDraws; rows.numel() > 0 && spent + count <= std::max(options.most, kFirstDraws);
       count = spent) {
    constexpr int64_t kRowsAtOnce = 256;  // of each rank between two progress reports; whole batches of Draws::add
    for (const auto& part : rows.split(kRowsAtOnce * options.ranks->size())) {
      draws.add(part, spent, count);
      if (on_progress) on_progress(part[-1].item<int64_t>() + 1, labels.size(0));
    }
    spent += count;
    const auto error = largest(surprise_of(draws.sums(), shares)).std_error;
    rows = rows.index_select(0, (error.index_select(0, rows) > options.error).nonzero().squeeze(1));
  }
  return surprise_of(draws.sums(), shares);
}

LargestSurprise largest(const LabelSurprise& surprise) {
  const auto [value, variable] = surprise.mean.max(1);
  return {value, surprise.std_error.gather(1, variable.unsqueeze(1)).squeeze(1), variable};
}

}  // namespace segre
