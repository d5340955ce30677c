#include "segre/runs/resolve.h"

#include "segre/core/error.h"
#include "segre/io/files.h"
#include "segre/recipes/recipe.h"
#include "segre/runs/load_run.h"
#include "segre/sources/source_kinds.h"

namespace segre {
namespace {

// What the user says: the config, then whatever overrides it. The config is read once: it may be a pipe.
class Wishes {
 public:
  explicit Wishes(const Request& request) : request_(request) {
    if (!request.config.empty()) text_ = read_file(request.config);
    Experiment alone;
    alone.net.kind.clear();
    read(alone);
    names_network_ = !alone.net.kind.empty();
    names_data_ = !alone.data.empty();
  }

  void apply(Experiment& experiment) const {
    read(experiment);
    if (!request_.data.empty()) {
      experiment.data = request_.data;
      if (names_data_) experiment.validation.clear();  // it belongs to the config's own data
    }
    auto schema = schema_of(experiment);
    for (const auto& assignment : request_.set) {
      schema.set(assignment, request_.set_called);
      if (assignment.starts_with("train.steps=")) experiment.train.epochs = 0;  // said later than the config's epochs
    }
  }

  // The net.kind that was asked for; empty if none.
  std::string kind() const {
    Experiment experiment;
    experiment.net.kind.clear();
    apply(experiment);
    return experiment.net.kind;
  }

  // Whether the config itself names the network.
  bool names_network() const { return names_network_; }

 private:
  void read(Experiment& experiment) const {
    if (!request_.config.empty()) schema_of(experiment).read_text(text_, request_.config);
  }

  const Request& request_;
  std::string text_;
  bool names_network_ = false;
  bool names_data_ = false;
};

Experiment changed(const Wishes& wishes, Experiment base = {}) {
  wishes.apply(base);
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
  const Wishes wishes(request);
  Resolved out{changed(wishes), nullptr};
  out.source = request.source ? request.source : open_source(out.experiment.data);
  const EvidenceKind asked = out.experiment.train.evidence.kind;
  if (request.own_network)
    out.experiment = recipe_for(out.source->space(), out.source->n_items(), device);
  else
    out.experiment = choose_recipe({.source = out.source,
                                    .device = device,
                                    .seconds = wishes.names_network() ? 0.0 : max_seconds,
                                    .kind = wishes.kind(),
                                    .apply = [&](Experiment& experiment) { wishes.apply(experiment); },
                                    .tell = request.tell,
                                    .stop = request.stop});
  wishes.apply(out.experiment);
  // A recipe's evidence is for models that can be told of it; for others, it is what the user asked for.
  const bool can_be_told =
      out.experiment.form == Form::evidence && out.experiment.train.objective == Objective::cross_entropy;
  if (!can_be_told) out.experiment.train.evidence.kind = asked;
  return out;
}

Resolved resolve_resumed(const Request& request, const RunDirectory& run) {
  return {changed(Wishes(request), asked_before(run)), request.source};
}

}  // namespace segre
