#include "segre/runs/plan_report.h"

#include <nlohmann/json.hpp>

#include "segre/core/parallel.h"

namespace segre {
namespace {

// null for what there is none of.
template <class T>
nlohmann::json if_any(bool any, const T& value) {
  return any ? nlohmann::json(value) : nlohmann::json(nullptr);
}

nlohmann::json data_of(const TrainPlan& plan) {
  const Experiment& e = plan.experiment;
  const Space& space = plan.data.source->space();
  const int64_t n_items = plan.fingerprint.n_items;
  const bool ends = n_items > 0;
  return {{"source", if_any(!e.data.empty(), e.data)},
          {"kind", space.describe()},
          {"variables", space.n_variables()},
          {"labels", space.n_coordinates()},
          {"items", if_any(ends, n_items)},
          {"sha256", plan.fingerprint.items},
          {"training_items", if_any(ends, plan.data.source->n_items())},
          {"held_out_items", plan.data.n_held_out()},
          {"validation", if_any(!e.validation.empty(), e.validation)}};
}

nlohmann::json race_of(const TrainPlan& plan) {
  nlohmann::json heats = nlohmann::json::array();
  for (const Heat& heat : plan.heats)
    heats.push_back({{"network", heat.network},
                     {"steps", heat.steps},
                     {"seconds", heat.seconds},
                     {"nats", heat.nats},
                     {"nats_error", heat.error}});
  return heats;
}

nlohmann::json length_of(const TrainPlan& plan) {
  const TrainLength& length = plan.length;
  return {{"first_step", plan.before ? plan.before->step : 0},
          {"expected_steps", length.expected},
          {"batch", length.batch},
          {"max_seconds", if_any(plan.is_limited(), plan.max_seconds)},
          {"step_seconds", if_any(plan.is_limited(), length.pace.seconds(length.batch))},
          {"evaluations_per_validation", plan.experiment.watch.evaluations}};
}

}  // namespace

TrainStart start_of(const TrainPlan& plan, int64_t n_parameters) {
  const Experiment& e = plan.experiment;
  return {.space = plan.data.source->space(),
          .network = e.custom_net.empty() ? describe_net(e.net) : e.custom_net,
          .batch = plan.length.batch,
          .n_items = plan.data.source->n_items(),
          .n_held_out = plan.data.n_held_out(),
          .n_parameters = n_parameters,
          .first_step = plan.before ? plan.before->step : 0,
          .expected_steps = plan.length.expected,
          .max_seconds = plan.max_seconds};
}

TrainStart start_of(const TrainPlan& plan) {
  const Experiment& e = plan.experiment;
  const Space& space = plan.data.source->space();
  if (!plan.field.make) return start_of(plan, outline_of(e, space).cost.n_parameters);
  return start_of(plan, n_parameters(make_model(e, space, torch::kCPU, plan.field).field()));
}

nlohmann::json to_json(const TrainPlan& plan) {
  const TrainStart start = start_of(plan);
  Experiment experiment = plan.experiment;
  return {{"out", if_any(!plan.out.empty(), plan.out.string())},
          {"data", data_of(plan)},
          {"network",
           {{"kind", experiment.custom_net.empty() ? experiment.net.kind : experiment.custom_net},
            {"description", start.network},
            {"parameters", start.n_parameters},
            {"reasons", plan.reasons},
            {"race", race_of(plan)}}},
          {"training", length_of(plan)},
          {"device", plan.device.str()},
          {"threads", n_threads()},
          {"ranks", plan.ranks->size()},
          {"config", schema_of(experiment).to_toml(/*with_help=*/false)}};
}

}  // namespace segre
