#include "segre/tasks/evaluate_run.h"

#include <algorithm>

#include "segre/core/clock.h"
#include "segre/core/error.h"
#include "segre/core/memory.h"
#include "segre/data/split.h"
#include "segre/flow/draw.h"
#include "segre/runs/sampling_flow.h"
#include "segre/sources/relabel.h"
#include "segre/tasks/training_items.h"

namespace segre {
namespace {

// All items of a source, or `most` of them at random: [count, n]. `what` is the source as the user gave it.
torch::Tensor held_out_items(const DataSource& source, int64_t most, const std::string& what) {
  require_complete(source, what);
  const int64_t n = source.n_items();
  if (n == 0 && most == 0) fail_input(what, ": is endless; give the number of items");
  const int64_t count = n == 0 ? most : most == 0 ? n : std::min(n, most);
  const Dataset* dataset = source.dataset();
  torch::Tensor labels = dataset == nullptr ? source.rows(0, count) : dataset->labels;
  if (labels.size(0) > count) {
    auto rows = torch::empty({count}, torch::kInt64);
    for (int64_t k = 0; k < count; ++k) rows.data_ptr<int64_t>()[k] = shuffled({0, Purpose::evaluation_rows}, 0, k, n);
    labels = labels.index_select(0, rows);
  }
  return labels.to(label_type(source.space()));
}

// Adds the training items and, if training mirrored them, their mirror images. Returns a description for the report.
std::string add_training_items(EvaluationData& data, const DataSource& source, const std::string& name) {
  if (source.n_items() == 0)
    return concat("Training items of ", name, " are generated endlessly: there are none to copy.");
  if (source.has_unknowns())
    return concat("Training items of ", name, " have unknown cells: samples are not compared with them.");
  data.train = all_labels(source);
  data.n_train = data.train.size(0);
  if (!source.mirrors()) return concat(data.n_train, " training items of ", name, ".");
  const auto& shape = data.space.item_shape();
  data.train = torch::cat({data.train, data.train.view({-1, shape[0], shape[1]}).flip({2}).view_as(data.train)});
  return concat(data.n_train, " training items of ", name,
                ", and their mirror images, which training saw as well: both are searched for the nearest.");
}

// Samples as one tensor: [count, n]; undefined on ranks other than 0.
torch::Tensor draw_all(const Sampler& sampler, int64_t count, const std::shared_ptr<Ranks>& ranks, DrawTotals& totals,
                       const WorkCallbacks& callbacks) {
  const Space& space = sampler.space();
  require_memory(2.0 * static_cast<double>(count) * static_cast<double>(space.n_variables()),
                 concat(count, " samples of the ", space.describe()), torch::kCPU);
  std::vector<torch::Tensor> all;
  totals = draw_samples(
      sampler, count, [&](const torch::Tensor& labels, int64_t) { all.push_back(labels.to(label_type(space))); },
      callbacks, {}, ranks);
  return ranks->is_first() ? torch::cat(all) : torch::Tensor();
}

}  // namespace

RunEvaluation evaluate_run(const LoadedRun& run, const std::string& name, const EvaluateRunOptions& options,
                           const WorkCallbacks& callbacks) {
  const Space& space = run.model.space();
  const std::string what = options.called + " " + options.data;
  const auto source = open_source_for(space, options.data, what);
  RunEvaluation out{.source = source,
                    .data = {space, {}, held_out_items(*source, options.items, what), {}, 0, source->joint()},
                    .found = {},
                    .setting = {}};
  if (out.data.held_out.size(0) < 2)
    fail_input(what, ": has ", out.data.held_out.size(0), " item, at least 2 are needed");
  const std::string train_name = options.train.empty() ? run.experiment.data : options.train;
  const auto train = open_training_items(run, options.train, options.train_called);
  out.setting.push_back(add_training_items(out.data, *train, train_name));
  if (options.data == train_name && out.data.train.defined())
    out.setting.emplace_back(
        "Warning: the held-out items are the training items themselves, so memorisation cannot be assessed; "
        "use other data.");

  const double start = now_seconds();
  DrawTotals totals;
  const Sampler sampler(sampling_flow(run), options.sample, options.seed);
  out.data.samples = draw_all(sampler, options.count, run.ranks, totals, callbacks);
  out.n_evaluations = totals.n_evaluations;
  out.sample_seconds = now_seconds() - start;
  out.setting.insert(out.setting.begin(),
                     concat(options.count, " samples of ", name, " (step ", run.step, "; ", options.sample.sampler,
                            ", ", totals.n_evaluations / options.count, " evaluations each), compared with ",
                            out.data.held_out.size(0), " items of ", options.data, "."));
  if (run.ranks->is_first())
    out.found =
        evaluate(out.data, {.seed = options.seed, .device = run.model.options().device(), .callbacks = callbacks});
  return out;
}

}  // namespace segre
