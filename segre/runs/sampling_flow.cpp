#include "segre/runs/sampling_flow.h"

#include "segre/net/net_kinds.h"
#include "segre/train/trainer.h"

namespace segre {

Flow trained_flow(const LoadedRun& run) {
  const Experiment& e = run.experiment;
  const auto device = run.model.options().device();
  const bool as_loaded = e.sample.precision == SamplePrecision::float32 || !e.custom_net.empty();
  const auto type = as_loaded ? torch::kFloat32 : training_type(e.net, device);
  if (as_loaded || type == compute_type(e.net, device)) return flow_of(run.model);
  const auto field = make_field(run.model.space(), e.net, /*seed=*/1);
  field->to(device);
  load_weights(*field, named_weights(run.model.field(), /*averaged=*/false), /*averaged=*/false);
  const Model copy(run.model.space(), run.model.shared_path(), run.model.form(), field);  // whose states are float32
  field->reduce_precision(type);
  return flow_of(copy);
}

Flow sampling_flow(const LoadedRun& run) {
  Flow flow = trained_flow(run);
  flow.log_marginals = flow_of(run.model).log_marginals;
  return flow;
}

}  // namespace segre
