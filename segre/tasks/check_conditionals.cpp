#include "segre/tasks/check_conditionals.h"

#include <algorithm>
#include <numeric>

#include "segre/core/error.h"
#include "segre/data/split.h"
#include "segre/eval/total_variation.h"
#include "segre/model/joint_oracle.h"
#include "segre/space/blocks.h"
#include "segre/tasks/complete.h"
#include "segre/tasks/known_joint.h"

namespace segre {
namespace {

constexpr int64_t kMostPatterns = 1 << 20;

// Every set of known labels, some but not all known: [P, n] int64; at most `most` of them, chosen at random, if that is
// not 0. Sets that are impossible are left out later.
torch::Tensor some_patterns(const Space& space, int64_t most) {
  std::vector<Variable> marked;
  for (int64_t i = 0; i < space.n_variables(); ++i)
    marked.push_back({space.variable_name(i), space.n_labels(i) + 1, {}});
  const auto all = enumerate_labelings(Space::table(marked), kMostPatterns) - 1;  // kUnknown is -1
  const auto unknown = (all == kUnknown).sum(1);
  const auto some = (unknown > 0).logical_and(unknown < space.n_variables()).nonzero().squeeze(1);
  const int64_t n = some.size(0);
  if (n == 0) fail_input("the ", space.describe(), " has no conditionals: nothing is left if one variable is known");
  return all.index_select(0, most > 0 && most < n ? some.index_select(0, chosen_rows(n, most)) : some);
}

bool is_possible(const JointTable& table, const torch::Tensor& labels) {
  const auto is_known = labels >= 0;
  const auto agree = (table.labelings == labels).logical_or(is_known.logical_not()).all(1);
  return table.p.masked_select(agree).sum().item<double>() > 0.0;
}

double marginal_kl(const JointTable& exact, const torch::Tensor& known, const torch::Tensor& probabilities) {
  constexpr double kLeast = 1e-12;
  const auto hot = one_hot(exact.space, exact.labelings, torch::kFloat64);
  const auto p = hot.t().mv(exact.p).unsqueeze(0);
  const auto q = probabilities.to(torch::kFloat64).clamp_min(kLeast);
  const auto kl = reduce_blocks(exact.space, {p, q}, [](const auto& in) {
    return (torch::xlogy(in[0], in[0]) - torch::xlogy(in[0], in[1])).sum(-1);
  });
  const auto open = (known == kUnknown).to(torch::kFloat64);
  return ((kl * open).sum() / open.sum()).item<double>();
}

ConditionalCheck check(const Completer& completer, const JointTable& table, const torch::Tensor& labels,
                       const ConditionalsOptions& options, int64_t number) {
  const auto known = labels.unsqueeze(0);
  const JointTable exact = conditional(table, {.labels = known});
  LabelingCounts counts(table.space);
  const int64_t step = completer.items_per_call();
  for (int64_t first = 0; first < options.samples; first += step) {
    const int64_t rows = std::min(step, options.samples - first);
    // Each pattern has its own noise.
    counts.add(completer.draw({.labels = known.expand({rows, -1})}, static_cast<uint64_t>(first), number));
  }
  return {labels, total_variation(exact, counts), total_variation_floor(exact, options.samples),
          marginal_kl(exact, known, completer.probabilities({.labels = known}, 0))};
}

}  // namespace

ConditionalsResult check_conditionals(const LoadedRun& run, const ConditionalsOptions& options,
                                      const WorkCallbacks& callbacks) {
  const auto source = known_joint(run);
  if (!source)
    fail_input(
        "conditionals are compared with those of a known joint distribution, which this run did not "
        "learn: its data are ",
        run.experiment.data);
  const JointTable& table = *source->joint();
  const auto patterns = some_patterns(table.space, options.patterns);
  const Completer completer(run, {.sample = run.experiment.sample, .seed = options.seed});
  ConditionalsResult out{};
  for (int64_t k = 0; k < patterns.size(0); ++k) {
    if (!is_possible(table, patterns[k])) continue;
    out.checks.push_back(check(completer, table, patterns[k].contiguous(), options, k));
    const ConditionalCheck& last = out.checks.back();
    out.mean += last.total_variation;
    out.floor += last.total_variation_floor;
    out.mean_kl += last.marginal_kl;
    out.worst = std::max(out.worst, last.total_variation);
    callbacks.report({"conditionals", k + 1, patterns.size(0)});
  }
  const auto n = static_cast<double>(std::max<size_t>(1, out.checks.size()));
  out.mean /= n;
  out.floor /= n;
  out.mean_kl /= n;
  return out;
}

}  // namespace segre
