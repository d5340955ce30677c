#include "segre/flow/few_rows.h"

#include <algorithm>
#include <vector>

#include "segre/core/parallel.h"
#include "segre/core/rng.h"
#include "segre/flow/state_blocks.h"
#include "segre/path/path_sample.h"
#include "segre/path/simplex.h"
#include "segre/space/blocks.h"

namespace segre {
namespace {

constexpr int64_t kFewest = 4;         // fewer are known to round differently
constexpr int64_t kSmallestPart = 64;  // of a block
constexpr int kTries = 3;
constexpr double kTime = 0.2;

// Any states with something known of half of the variables.
State any_states(const Flow& flow, FewRows::Asked asked, int known, int64_t rows) {
  const Space& space = flow.space;
  const int64_t n = space.n_variables();
  const RandomStream random{1, Purpose::probe};
  State state{.v = reference_noise(space, random.part(0), 0, rows, flow.options), .t = {}};
  state.t = torch::full({asked == FewRows::Asked::endpoint ? 1 : rows}, kTime, flow.options);
  if ((known & 1) != 0) {
    const auto u = fill_uniform(torch::empty({rows, 2 * n}), random.part(1), 0);
    const auto label = (u.slice(1, 0, n) * space.offsets().diff()).to(torch::kInt64);
    state.known.labels = torch::where(u.slice(1, n) < 0.5, label, torch::full({1}, kUnknown, torch::kInt64));
  }
  if ((known & 2) != 0) state.known.soft = reference_noise(space, random.part(2), 0, rows, flow.options);
  return state;
}

torch::Tensor evaluate(const Flow& flow, FewRows::Asked asked, const State& state) {
  const torch::NoGradGuard no_grad;
  if (asked == FewRows::Asked::log_marginals) return flow.log_marginals(state);
  return torch::cat({flow.endpoint(state), log_lift(flow.space, state.v)}, 1);
}

// Whether every part of a block has the bits that it has in the whole.
bool same_bits(const Flow& flow, FewRows::Asked asked, const State& states, const torch::Tensor& whole, int64_t few) {
  const int64_t n_parts = whole.size(0) / few;
  std::vector<char> same(n_parts);
  for_each_block(n_parts, /*on_cpu=*/true, [&](int64_t k) {
    const int64_t first = k * few;
    State part{.v = states.v.narrow(0, first, few), .t = states.t, .known = states.known.slice(first, first + few)};
    if (part.t.size(0) > 1) part.t = part.t.narrow(0, first, few);
    same[k] = torch::equal(evaluate(flow, asked, part), whole.narrow(0, first, few)) ? 1 : 0;
  });
  return std::all_of(same.begin(), same.end(), [](char one) { return one != 0; });
}

int64_t find(const Flow& flow, FewRows::Asked asked, int known) {
  const int64_t rows = rows_per_block(flow);
  if (!flow.options.device().is_cpu() || rows <= kFewest) return rows;
  const State states = any_states(flow, asked, known, rows);
  torch::Tensor whole;
  for_each_block(1, /*on_cpu=*/true, [&](int64_t) { whole = evaluate(flow, asked, states); });
  int64_t few = std::max(kFewest, rows / kSmallestPart);
  for (int k = 0; k < kTries && few < rows; ++k, few *= 2)
    if (same_bits(flow, asked, states, whole, few)) return few;
  return rows;
}

}  // namespace

int64_t FewRows::operator()(const Flow& flow, Asked asked, int known) const {
  const std::lock_guard lock(mutex_);
  int64_t& found = found_.at(static_cast<size_t>(known) + (asked == Asked::endpoint ? 0 : kKnownShapes));
  if (found == 0) found = find(flow, asked, known);
  return found;
}

}  // namespace segre
