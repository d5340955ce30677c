#include "segre/flow/flow.h"

#include "segre/flow/few_rows.h"
#include "segre/kernels/path_kernels.h"
#include "segre/path/known_rows.h"
#include "segre/path/simplex.h"

namespace segre {
namespace {

torch::Tensor velocity_without_gradient(const Model& model, const State& state) {
  if (state.t.is_cpu() && state.t.numel() == 1) return model.velocity_at(state.v, state.t.item<double>(), state.known);
  const torch::NoGradGuard no_grad;
  return model.velocity(state);
}

// D, in one pass over the network's output where it is evaluated at one time, as samplers do: v' = alpha D + pull v.
torch::Tensor endpoint(const Model& model, const State& state) {
  const bool fuses = model.form() == Form::evidence && state.t.is_cpu() && state.t.numel() == 1 &&
                     state.v.size(0) > 1 && !torch::GradMode::is_enabled() && kernels::serves(state.v);
  if (!fuses) return model.endpoint(state);
  const auto at = model.path().at(state.t.item<double>());
  return kernels::endpoint_velocity(model.network_output(state).contiguous(), state.v.contiguous(), model.space(),
                                    at.a / (at.s * at.s), /*alpha=*/1.0, /*pull=*/0.0, model.scales(),
                                    known_rows(state.known));
}

}  // namespace

Flow flow_of(const Model& model) {
  model.field().set_training(false);
  return {.space = model.space(),
          .path = model.shared_path(),
          .options = model.options(),
          .endpoint = [model](const State& state) { return endpoint(model, state); },
          .log_marginals = model.form() == Form::velocity
                               ? StateFunction()
                               : [model](const State& state) { return log_lift(model.space(), model.logits(state)); },
          .velocity = [model](const State& state) { return velocity_without_gradient(model, state); },
          .from_evidence = model.form() == Form::evidence,
          .n_activations = model.field().n_activations(),
          .few_rows = std::make_shared<FewRows>()};
}

Flow flow_of(const JointOracle& oracle) {
  const auto endpoint = [oracle](const State& state) { return oracle.endpoint(state); };
  return {.space = oracle.space(),
          .path = oracle.shared_path(),
          .options = torch::kFloat64,
          .endpoint = endpoint,
          .log_marginals = [oracle](const State& state) { return oracle.posterior_marginals(state).log(); },
          .velocity =
              [oracle, endpoint](const State& state) {
                return velocity_from_endpoint(oracle.path(), endpoint(state),
                                              only_open(oracle.space(), state.known, state.v), state.t);
              },
          .from_evidence = true,
          .n_activations = oracle.table().p.size(0),
          .few_rows = std::make_shared<FewRows>()};
}

Flow with_evidence(const Flow& flow, const torch::Tensor& soft) {
  const auto bind = [row = soft.to(flow.options).unsqueeze(0)](const StateFunction& field) -> StateFunction {
    return [field, row](const State& state) {
      State told = state;
      const auto all = row.expand({state.v.size(0), row.size(1)});
      told.known.soft = state.known.soft.defined() ? state.known.soft + all : all;
      return field(told);
    };
  };
  Flow out = flow;
  out.endpoint = bind(flow.endpoint);
  if (flow.log_marginals) out.log_marginals = bind(flow.log_marginals);
  out.velocity = bind(flow.velocity);
  out.few_rows = std::make_shared<FewRows>();
  return out;
}

torch::Tensor marginals_given(const Flow& flow, const StateFunction& ask, const Known& known, int64_t n_rows) {
  const auto v = torch::zeros({n_rows, flow.space.n_coordinates()}, flow.options);
  return ask({v, torch::zeros({n_rows}, flow.options), known});
}

}  // namespace segre
