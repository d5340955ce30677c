#include "segre/path/fill.h"

#include <limits>

#include "segre/space/blocks.h"

namespace segre {
namespace {

torch::Tensor draw(const Space& space, const torch::Tensor& p, const torch::Tensor& u) {
  return reduce_blocks(space, {p, spread(space, u)}, [](const auto& in) {
    const auto below = in[0].cumsum(-1);
    return (below <= in[1] * below.narrow(-1, below.size(-1) - 1, 1)).sum(-1).clamp_max(in[0].size(-1) - 1);
  });
}

// The first `count` [B, 1] open cells in the order of their priorities: [B, n] bool.
torch::Tensor first_cells(const torch::Tensor& priority, const torch::Tensor& open, const torch::Tensor& count) {
  const auto last = torch::full({1}, std::numeric_limits<float>::infinity(), priority.options());
  const auto rank = torch::where(open, priority, last).argsort(/*stable=*/true, 1, false).argsort(int64_t{1});
  return open.logical_and(rank < count);
}

}  // namespace

torch::Tensor fill_unknown(const Space& space, torch::Tensor labels, const FillPlan& plan) {
  const auto total = (labels == kUnknown).sum(1, /*keepdim=*/true);
  auto filled = torch::zeros_like(total);
  for (int64_t step = 0; step < plan.steps; ++step) {
    const auto p = plan.log_marginals(labels).exp();
    const auto upto = plan.upto ? plan.upto(step, total) : (total * (step + 1)).div(plan.steps, "floor");
    const auto now = first_cells(plan.priority(p), labels == kUnknown, upto - filled);
    labels = torch::where(now, draw(space, p, plan.uniforms(step)), labels);
    filled = upto;
  }
  return labels;
}

}  // namespace segre
