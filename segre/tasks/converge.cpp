#include "segre/tasks/converge.h"

#include <algorithm>
#include <optional>

namespace segre {
namespace {

// Weights of all draws, computed a few at a time: [N, draws].
LogWeights weigh_all(const Flow& flow, const FlowBoundOptions& options, const torch::Tensor& labels, int64_t draws,
                     const WorkCallbacks& callbacks) {
  const int64_t rows = flow.options.device().is_cpu() ? 4 : 2048;
  const int64_t per_call = std::max<int64_t>(1, rows / labels.size(0));
  const FlowBound bound(flow, options);
  std::optional<LogWeights> all;
  for (int64_t first = 0; first < draws; first += per_call) {
    const auto some = bound.draws(labels, first, std::min(per_call, draws - first));
    all = all ? join_draws(*all, some) : some;
    callbacks.report({"weighing", std::min(draws, first + per_call), draws});
  }
  return *all;
}

}  // namespace

Convergence converge(const LoadedRun& run, const torch::Tensor& labels, const FlowBoundOptions& options, int64_t draws,
                     const WorkCallbacks& callbacks) {
  const auto items = distinct_items(labels);
  const auto weights = weigh_all(flow_of(run.model), options, items.labels, draws, callbacks);
  Convergence out{.n_items = items.labels.size(0),
                  .draws = draws,
                  .points = convergence_of(weights.values),
                  .summary = summarise(mean_of_weights(weights), run.model.space(), items.counts),
                  .weight_scatter = weights.values.std(1).mean().item<double>()};
  require_possible(out.summary);
  return out;
}

}  // namespace segre
