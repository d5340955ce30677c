#include "segre/train/objective.h"

#include <torch/csrc/autograd/autograd.h>

#include "segre/core/error.h"
#include "segre/path/known_rows.h"
#include "segre/path/simplex.h"
#include "segre/space/blocks.h"

namespace segre {
namespace {

State state_of(const PathSample& sample) { return {sample.v_t, sample.t, sample.known, sample.training}; }

torch::Tensor endpoint_error(const Model& model, const PathSample& sample, const torch::Tensor& D) {
  const auto& labels = sample.labels;
  const auto u_beta = corners(model.space(), model.path(), sample.known.labels.defined() ? labels.clamp_min(0) : labels,
                              D.options().requires_grad(false));
  return squared_norm(only_open(model.space(), sample.known, u_beta) - D.detach());
}

// Gradients of `output` with respect to the field's parameters, given its own (none for a scalar).
std::vector<torch::Tensor> gradients_of(const torch::Tensor& output, const Field& field,
                                        const torch::Tensor& grad_output) {
  if (!at::GradMode::is_enabled() || field.parameters().empty()) return {};
  std::vector<torch::Tensor> parameters;
  for (const auto& [name, parameter] : field.parameters()) parameters.push_back(parameter);
  return torch::autograd::grad({output}, parameters, {grad_output}, /*retain_graph=*/std::nullopt,
                               /*create_graph=*/false,
                               /*allow_unused=*/true);
}

ObjectiveValue fused_cross_entropy(const Model& model, const PathSample& sample) {
  const auto message = model.network_output(state_of(sample));
  const auto weight = (sample.weight / static_cast<double>(sample.t.size(0))).contiguous();
  const auto out = kernels::cross_entropy(message.detach().contiguous(), sample.v_t, model.space(),
                                          model.evidence_ratio(sample.t).contiguous(), model.scales(), sample.labels,
                                          weight, known_rows(sample.known));
  return {out.loss, out.error, gradients_of(message, model.field(), out.gradient)};
}

ObjectiveValue plain_cross_entropy(const Model& model, const PathSample& sample) {
  const auto logits = model.logits(state_of(sample));
  const auto& labels = sample.labels;
  auto log_p = pick(model.space(), log_lift(model.space(), logits),
                    sample.known.labels.defined() ? labels.clamp_min(0) : labels);
  if (sample.known.labels.defined())
    log_p = torch::where(open_variables(sample.known), log_p, torch::zeros({1}, log_p.options()));
  const auto loss = -log_p.sum(-1);
  auto gradients = gradients_of((sample.weight * loss).mean(), model.field(), {});
  const auto D = only_open(model.space(), sample.known,
                           mean_corner(model.space(), model.path(), lift(model.space(), logits.detach())));
  return {loss.detach(), endpoint_error(model, sample, D), std::move(gradients)};
}

ObjectiveValue metric(const Model& model, const PathSample& sample) {
  const auto F = model.velocity(state_of(sample));
  const auto W = lift(model.space(), sample.v_t);
  const auto loss = fisher_rao_squared(model.space(), W, F - sample.velocity).sum(-1);
  auto gradients = gradients_of((sample.weight * loss).mean(), model.field(), {});
  const auto D = endpoint_from_velocity(model.path(), F.detach(), sample.v_t, sample.t);
  return {loss.detach(), endpoint_error(model, sample, D), std::move(gradients)};
}

}  // namespace

WithVelocity needs_velocity(Objective objective) {
  return objective == Objective::metric ? WithVelocity::yes : WithVelocity::no;
}

ObjectiveValue evaluate(const Model& model, const PathSample& sample, Objective objective) {
  if (objective == Objective::metric) return metric(model, sample);
  if (model.form() == Form::velocity)
    fail_input(
        "train.objective = \"cross_entropy\" needs model.form = \"endpoint\" or \"evidence\": the velocity form has no "
        "label logits");
  return kernels::serves(sample.v_t) ? fused_cross_entropy(model, sample) : plain_cross_entropy(model, sample);
}

}  // namespace segre
