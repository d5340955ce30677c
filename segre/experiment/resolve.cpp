#include "segre/experiment/resolve.h"

#include "segre/core/error.h"
#include "segre/experiment/load_run.h"
#include "segre/experiment/recipe.h"
#include "segre/sources/source_kinds.h"

namespace segre {
namespace {

void apply(const Request& request, Experiment& experiment) {
  auto schema = schema_of(experiment);
  if (!request.data.empty()) experiment.data = request.data;
  for (const auto& assignment : request.set) schema.set(assignment, request.set_called);
}

// The net.kind that the user set; empty if none.
std::string asked_kind(const Request& request) {
  Experiment experiment;
  experiment.net.kind.clear();
  apply(request, experiment);
  return experiment.net.kind;
}

Experiment changed(Experiment base, const Request& request) {
  apply(request, base);
  if (base.data.empty())
    fail_input("nothing to learn: data.source is empty; 'segre train --data coupled --out run' is an example");
  return base;
}

Experiment asked_before(const RunDirectory& run) {
  const auto checkpoint = find_checkpoint(run.path(), Checkpoint::last);
  Experiment experiment;
  if (std::filesystem::exists(run.config())) {
    schema_of(experiment).read_file(run.config());
    return experiment;
  }
  const auto description = read_checkpoint(checkpoint);
  experiment = description.experiment;
  // A run with a time limit may exceed the steps in its config.
  experiment.train.steps = std::max(experiment.train.steps, description.step);
  return experiment;
}

Experiment read_config(const std::string& path) {
  Experiment experiment;
  schema_of(experiment).read_file(path);
  return experiment;
}

}  // namespace

Resolved resolve(const Request& request, torch::Device device, double max_seconds) {
  const Experiment base = request.config.empty() ? Experiment() : read_config(request.config);
  Resolved out{changed(base, request), nullptr};
  out.source = request.source ? request.source : open_source(out.experiment.data);
  if (request.config.empty() && request.own_network) {
    out.experiment = recipe_for(out.source->space(), out.source->n_items(), device);
    apply(request, out.experiment);
  } else if (request.config.empty()) {
    const EvidenceKind asked = out.experiment.train.evidence.kind;
    out.experiment = choose_recipe({.source = out.source,
                                    .device = device,
                                    .seconds = max_seconds,
                                    .kind = asked_kind(request),
                                    .apply = [&](Experiment& experiment) { apply(request, experiment); },
                                    .tell = request.tell,
                                    .stop = request.stop});
    apply(request, out.experiment);
    // A recipe's evidence is for models that can be told of it; for others, it is what the user asked for.
    const bool can_be_told =
        out.experiment.form == Form::evidence && out.experiment.train.objective == Objective::cross_entropy;
    if (!can_be_told) out.experiment.train.evidence.kind = asked;
  }
  return out;
}

Resolved resolve_resumed(const Request& request, const RunDirectory& run) {
  return {changed(request.config.empty() ? asked_before(run) : read_config(request.config), request), request.source};
}

}  // namespace segre
