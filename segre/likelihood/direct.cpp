#include "segre/likelihood/direct.h"

#include <cmath>
#include <limits>

#include "segre/core/error.h"
#include "segre/core/memory.h"
#include "segre/core/parallel.h"
#include "segre/flow/row_blocks.h"
#include "segre/path/path_sample.h"
#include "segre/path/simplex.h"
#include "segre/space/blocks.h"

namespace segre {
namespace {

constexpr double kFewestEffective = 20.0;  // minimum effective number of trajectories behind a labeling's estimate
// Runge-Kutta steps to t1, of equal length in log(1 + a/s), four evaluations each.
constexpr int64_t kSteps = DirectSimulation::kEvaluationsPerDraw / 4;
constexpr int64_t kPartsPerBlock = 8;  // parts of a block's trajectories, each in one group
constexpr double kNothing = -std::numeric_limits<double>::infinity();  // log of an empty sum

void check_direct(const Flow& flow, const torch::Tensor& labels, const DirectOptions& options) {
  check_labels(flow.space, labels);
  if (options.draws < 2) fail_input("draws = ", options.draws, ": expected at least 2");
  if (flow.space.n_labelings(kMaxDirectLabelings) > kMaxDirectLabelings)
    fail_input("direct simulation has to hit every labeling by chance; the ", flow.space.describe(), " has more than ",
               kMaxDirectLabelings, ": use the free or the path bound");
}

}  // namespace

DirectSimulation::DirectSimulation(Flow flow, const torch::Tensor& labels, const DirectOptions& options,
                                   std::shared_ptr<Ranks> ranks)
    : flow_(std::move(flow)),
      options_(options),
      ranks_(std::move(ranks)),
      t1_(reading_time(flow_.space, *flow_.path, options.t1)),
      carry_(flow_) {
  check_direct(flow_, labels, options);
  hot_ = one_hot(flow_.space, labels.to(flow_.options.device()), flow_.options.dtype(torch::kFloat64)).t();
  sums_ = torch::full({kGroups, labels.size(0)}, kNothing, torch::kFloat64);
  squares_ = torch::full({labels.size(0)}, kNothing, torch::kFloat64);
  group_draws_ = torch::zeros({kGroups}, torch::kFloat64);
}

torch::Tensor DirectSimulation::simulate(uint64_t first, int64_t count) const {
  auto x = reference_noise(flow_.space, {options_.seed, Purpose::direct_noise}, first, count, flow_.options);
  const auto end = flow_.path->at(t1_);
  const double length = std::log1p(end.a / end.s) / static_cast<double>(kSteps);
  for (int64_t k = 0; k < kSteps; ++k) {
    const auto time_of = [&](int64_t step) {
      return flow_.path->time_at(std::expm1(length * static_cast<double>(step)));
    };
    x = carry_(x, time_of(k), time_of(k + 1), 1);
  }
  return end.s * x;
}

// log T(W)_alpha of trajectories first ... first + count - 1 for all items: [count, N] on the device.
torch::Tensor DirectSimulation::log_probabilities(uint64_t first, int64_t count) const {
  const auto v = simulate(first, count);
  const auto log_W = options_.matched ? matched_readout(flow_.space, *flow_.path, v, t1_) : log_lift(flow_.space, v);
  return log_W.to(torch::kFloat64).matmul(hot_);
}

// Of a block's trajectories: log of the sum of p over each part, then of p^2 over all: [kPartsPerBlock + 1, N].
torch::Tensor DirectSimulation::sums_of_block(uint64_t first, int64_t count) const {
  const auto log_p = log_probabilities(first, count);
  std::vector<torch::Tensor> sums;
  for (const auto& part : log_p.tensor_split(kPartsPerBlock))
    sums.push_back(part.size(0) > 0 ? part.logsumexp(0) : torch::full_like(log_p[0], kNothing));
  sums.push_back((2.0 * log_p).logsumexp(0));
  return torch::stack(sums).cpu();
}

void DirectSimulation::add(int64_t draws) {
  const torch::NoGradGuard no_grad;
  const int64_t rows = rows_per_block(flow_);
  const int64_t n_blocks = (draws + rows - 1) / rows;
  const auto rows_of = [&](int64_t block) { return std::min(rows, draws - block * rows); };
  require_memory(8.0 * (kPartsPerBlock + 1) * static_cast<double>(n_blocks) * static_cast<double>(hot_.size(1) + 8),
                 concat("direct simulation of ", draws, " trajectories"), torch::kCPU);
  const SharedRows shared(ranks_, n_blocks);
  auto own = torch::empty({shared.own().count(), kPartsPerBlock + 1, hot_.size(1)}, torch::kFloat64);
  for_each_block(own.size(0), flow_.options.device().is_cpu(), [&](int64_t k) {
    const torch::NoGradGuard no_grad_here;
    const int64_t block = shared.own().from + k;
    own[k].copy_(sums_of_block(static_cast<uint64_t>(n_draws_ + block * rows), rows_of(block)));
  });
  const auto blocks = shared.gather(own);
  for (int64_t block = 0; block < n_blocks; ++block) {
    squares_ = torch::logaddexp(squares_, blocks[block][kPartsPerBlock]);
    for (int64_t part = 0; part < kPartsPerBlock; ++part) {
      const int64_t count = rows_of(block) / kPartsPerBlock + (part < rows_of(block) % kPartsPerBlock ? 1 : 0);
      if (count == 0) continue;
      const int64_t group = ((n_draws_ / rows + block) * kPartsPerBlock + part) % kGroups;
      sums_[group] = torch::logaddexp(sums_[group], blocks[block][part]);
      group_draws_[group] += count;
    }
  }
  n_draws_ += draws;
  if (!squares_.isfinite().all().item<bool>())
    fail("the flow led to states that are not finite; the model's weights may be damaged");
}

ItemScores DirectSimulation::scores() const {
  const auto K = static_cast<double>(n_draws_);
  const auto log_p = sums_.logsumexp(0) - std::log(K);
  // Relative variance of a draw: E p^2 / (E p)^2 - 1.
  const auto relative = ((squares_ - std::log(K) - 2.0 * log_p).exp() - 1.0).clamp_min(0.0);
  // If a few trajectories dominate a labeling, its error cannot be estimated from them.
  const auto error = (relative / (K - 1.0)).sqrt();
  const auto too_few = K / (relative + 1.0) < kFewestEffective;
  const auto used = (group_draws_ > 0.0).nonzero().squeeze(1);
  const auto share = (group_draws_.index_select(0, used) / K).unsqueeze(1);
  return {.log_p = log_p,
          .std_error = torch::where(too_few, torch::full_like(error, std::numeric_limits<double>::quiet_NaN()), error),
          .integration = {},
          .shared = (sums_.index_select(0, used) - std::log(K) - log_p).exp() - share};
}

ItemScores direct_estimate(const Flow& flow, const torch::Tensor& labels, const DirectOptions& options) {
  DirectSimulation simulation(flow, labels, options);
  simulation.add(options.draws);
  return simulation.scores();
}

}  // namespace segre
