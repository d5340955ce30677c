#include "segre/tasks/sample_run.h"

#include "segre/core/clock.h"
#include "segre/eval/total_variation.h"
#include "segre/tasks/given.h"
#include "segre/tasks/known_joint.h"

namespace segre {

SampleRunResult sample_run(const LoadedRun& run, const Sampler& sampler, int64_t count,
                           const std::function<void(const torch::Tensor& labels, int64_t first)>& use,
                           const WorkCallbacks& callbacks, const GivenRows& given) {
  if (given) note_untold(run);
  const auto known = given ? nullptr : known_joint(run);
  std::optional<LabelingCounts> counts;
  if (known) counts.emplace(run.model.space());
  const double start = now_seconds();
  const DrawTotals totals = draw_samples(
      sampler, count,
      [&](const torch::Tensor& labels, int64_t first) {
        if (counts) counts->add(labels);
        use(labels, first);
      },
      callbacks, given, run.ranks);
  SampleRunResult out{.totals = totals, .t1 = sampler.t1(), .seconds = now_seconds() - start};
  if (counts && run.ranks->is_first())
    out.total_variation = {total_variation(*known->joint(), *counts), total_variation_floor(*known->joint(), count)};
  return out;
}

SampleRunResult sample_parts(const LoadedRun& run, const Sampler& sampler, int64_t count, int64_t blocks,
                             const std::function<void(const torch::Tensor& labels, int64_t first)>& use,
                             const WorkCallbacks& callbacks, const GivenRows& given) {
  if (given) note_untold(run);
  const double start = now_seconds();
  const DrawTotals totals = draw_parts(sampler, count, blocks, use, callbacks, given, run.ranks);
  return {.totals = totals, .t1 = sampler.t1(), .seconds = now_seconds() - start};
}

}  // namespace segre
