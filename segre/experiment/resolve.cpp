#include "segre/experiment/resolve.h"

#include "segre/core/error.h"
#include "segre/experiment/load_run.h"
#include "segre/experiment/recipe.h"
#include "segre/sources/source_kinds.h"

namespace segre {
namespace {

// What the user says: the config, then whatever overrides it.
void apply(const Request& request, Experiment& experiment) {
  auto schema = schema_of(experiment);
  if (!request.config.empty()) schema.read_file(request.config);
  if (!request.data.empty()) {
    experiment.data = request.data;
    if (!request.config.empty()) experiment.validation.clear();  // it belongs to the config's own data
  }
  for (const auto& assignment : request.set) schema.set(assignment, request.set_called);
}

// The net.kind that the user set; empty if none.
std::string asked_kind(const Request& request) {
  Experiment experiment;
  experiment.net.kind.clear();
  apply(request, experiment);
  return experiment.net.kind;
}

Experiment changed(const Request& request, Experiment base = {}) {
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

}  // namespace

Resolved resolve(const Request& request, torch::Device device, double max_seconds) {
  Resolved out{changed(request), nullptr};
  out.source = request.source ? request.source : open_source(out.experiment.data);
  if (request.own_network) {
    out.experiment = recipe_for(out.source->space(), out.source->n_items(), device);
    apply(request, out.experiment);
    return out;
  }
  const EvidenceKind asked = out.experiment.train.evidence.kind;
  const std::string kind = asked_kind(request);
  // A config with a network has its sizes, too: nothing needs to be tried.
  const bool is_sized = !request.config.empty() && !kind.empty();
  out.experiment = choose_recipe({.source = out.source,
                                  .device = device,
                                  .seconds = is_sized ? 0.0 : max_seconds,
                                  .kind = kind,
                                  .apply = [&](Experiment& experiment) { apply(request, experiment); },
                                  .tell = request.tell,
                                  .stop = request.stop});
  apply(request, out.experiment);
  // A recipe's evidence is for models that can be told of it; for others, it is what the user asked for.
  const bool can_be_told =
      out.experiment.form == Form::evidence && out.experiment.train.objective == Objective::cross_entropy;
  if (!can_be_told) out.experiment.train.evidence.kind = asked;
  return out;
}

Resolved resolve_resumed(const Request& request, const RunDirectory& run) {
  return {changed(request, asked_before(run)), request.source};
}

}  // namespace segre
