#include "segre/likelihood/direct.h"

#include <cmath>
#include <limits>

#include "segre/core/error.h"
#include "segre/core/one_thread.h"
#include "segre/path/path_sample.h"
#include "segre/simplex/lift.h"
#include "segre/space/blocks.h"

namespace segre {
namespace {

constexpr double kFewestEffective = 20.0;  // trajectories that must share a labeling's estimate
constexpr int64_t kSteps = 32;             // Runge-Kutta steps to t1, of equal length in log(1 + a/s)

torch::Tensor simulate(const Flow& flow, const Carrier& carry, uint64_t first, int64_t count, double t1,
                       uint64_t seed) {
  auto x = reference_noise(flow.space, {seed, Purpose::sampling_noise}, first, count, flow.options);
  const auto end = flow.path->at(t1);
  const double length = std::log1p(end.a / end.s) / static_cast<double>(kSteps);
  for (int64_t k = 0; k < kSteps; ++k) {
    const auto time_of = [&](int64_t step) {
      return flow.path->time_at(std::expm1(length * static_cast<double>(step)));
    };
    x = carry(x, time_of(k), time_of(k + 1), 1);
  }
  return end.s * x;
}

}  // namespace

ItemScores direct_estimate(const Flow& flow, const torch::Tensor& labels, const DirectOptions& options) {
  const torch::NoGradGuard no_grad;
  check_labels(flow.space, labels);
  if (options.draws < 2) fail_input("draws = ", options.draws, ": expected at least 2");
  if (flow.space.n_labelings(kMaxDirectLabelings) > kMaxDirectLabelings)
    fail_input("direct simulation has to meet every labeling by chance; the ", flow.space.describe(), " has more than ",
               kMaxDirectLabelings, ": use the free or the path bound");
  const double t1 = reading_time(flow.space, *flow.path, options.t1);
  const Carrier carry(flow);
  const auto hot = one_hot(flow.space, labels.to(flow.options.device()), flow.options.dtype(torch::kFloat64)).t();
  const int64_t rows = rows_per_block(flow);
  const int64_t n_blocks = (options.draws + rows - 1) / rows;
  // Per block: log of the sums of p and of p^2 over its trajectories, [2, N].
  std::vector<torch::Tensor> sums(n_blocks);
  const bool on_cpu = flow.options.device().is_cpu();
  at::parallel_for(0, n_blocks, on_cpu ? 1 : n_blocks, [&](int64_t begin, int64_t end) {
    const torch::NoGradGuard no_grad_here;
    const OneThread alone;
    for (int64_t block = begin; block < end; ++block) {
      const int64_t count = std::min(rows, options.draws - block * rows);
      const auto v = simulate(flow, carry, static_cast<uint64_t>(block * rows), count, t1, options.seed);
      const auto log_W = options.matched ? matched_readout(flow.space, *flow.path, v, t1) : log_lift(flow.space, v);
      const auto log_p = log_W.to(torch::kFloat64).matmul(hot);  // [count, N]
      sums[block] = torch::stack({log_p.logsumexp(0), (2.0 * log_p).logsumexp(0)}).cpu();
    }
  });
  const auto total = torch::stack(sums).logsumexp(0);  // [2, N]
  const auto K = static_cast<double>(options.draws);
  const auto log_p = total[0] - std::log(K);
  // Relative variance of a draw: E p^2 / (E p)^2 - 1.
  const auto relative = ((total[1] - std::log(K) - 2.0 * log_p).exp() - 1.0).clamp_min(0.0);
  // A labeling that a few trajectories decide has an error that cannot be told from them.
  const auto error = (relative / (K - 1.0)).sqrt();
  const auto too_few = K / (relative + 1.0) < kFewestEffective;
  return {log_p, torch::where(too_few, torch::full_like(error, std::numeric_limits<double>::quiet_NaN()), error)};
}

}  // namespace segre
