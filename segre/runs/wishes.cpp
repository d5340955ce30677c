#include "segre/runs/wishes.h"

#include "segre/core/error.h"
#include "segre/io/files.h"

namespace segre {

Wishes::Wishes(const Request& request) : request_(request) {
  if (!request.config.empty()) text_ = read_file(request.config);
  asked_.net.kind.clear();
  read_config(asked_);
  names_network_ = !asked_.net.kind.empty();
  names_data_ = !asked_.data.empty();
  override_config(asked_);
}

void Wishes::change(Experiment& experiment) const {
  read_config(experiment);
  override_config(experiment);
}

void Wishes::change_recipe(Experiment& recipe) const {
  change(recipe);
  const bool can_be_given = recipe.form == Form::evidence && recipe.train.objective == Objective::cross_entropy;
  if (!can_be_given) recipe.train.evidence.kind = asked_.train.evidence.kind;
}

void Wishes::read_config(Experiment& experiment) const {
  if (!request_.config.empty()) schema_of(experiment).read_text(text_, request_.config);
}

void Wishes::override_config(Experiment& experiment) const {
  if (!request_.data.empty()) {
    experiment.data = request_.data;
    if (names_data_) experiment.validation.clear();  // it belongs to the config's own data
  }
  auto schema = schema_of(experiment);
  for (const auto& assignment : request_.set) {
    schema.set(assignment, request_.set_called);
    if (assignment.starts_with("train.steps=")) experiment.train.epochs = 0;  // it comes after the config's epochs
  }
}

}  // namespace segre
