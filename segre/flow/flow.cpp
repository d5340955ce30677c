#include "segre/flow/flow.h"

namespace segre {
namespace {

torch::Tensor velocity_without_gradient(const Model& model, const torch::Tensor& v, const torch::Tensor& t) {
  if (t.is_cpu() && t.numel() == 1) return model.velocity_at(v, t.item<double>());
  const torch::NoGradGuard no_grad;
  return model.velocity(v, t);
}

}  // namespace

Flow flow_of(const Model& model) {
  model.field().set_training(false);
  return {.space = model.space(),
          .path = model.shared_path(),
          .options = model.options(),
          .endpoint = [model](const torch::Tensor& v, const torch::Tensor& t) { return model.endpoint(v, t); },
          .velocity = [model](const torch::Tensor& v,
                              const torch::Tensor& t) { return velocity_without_gradient(model, v, t); },
          .from_evidence = model.form() == Form::evidence,
          .n_activations = model.field().n_activations()};
}

Flow flow_of(const JointOracle& oracle) {
  const auto endpoint = [oracle](const torch::Tensor& v, const torch::Tensor& t) { return oracle.endpoint(v, t); };
  return {.space = oracle.space(),
          .path = oracle.shared_path(),
          .options = torch::kFloat64,
          .endpoint = endpoint,
          .velocity =
              [oracle, endpoint](const torch::Tensor& v, const torch::Tensor& t) {
                return velocity_from_endpoint(oracle.path(), endpoint(v, t), v, t);
              },
          .from_evidence = true,
          .n_activations = oracle.table().p.size(0)};
}

}  // namespace segre
