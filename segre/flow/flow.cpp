#include "segre/flow/flow.h"

#include "segre/path/simplex.h"

namespace segre {
namespace {

torch::Tensor velocity_without_gradient(const Model& model, const State& state) {
  if (state.t.is_cpu() && state.t.numel() == 1) return model.velocity_at(state.v, state.t.item<double>(), state.known);
  const torch::NoGradGuard no_grad;
  return model.velocity(state);
}

}  // namespace

Flow flow_of(const Model& model) {
  model.field().set_training(false);
  return {.space = model.space(),
          .path = model.shared_path(),
          .options = model.options(),
          .endpoint = [model](const State& state) { return model.endpoint(state); },
          .log_marginals = model.form() == Form::velocity
                               ? StateFunction()
                               : [model](const State& state) { return log_lift(model.space(), model.logits(state)); },
          .velocity = [model](const State& state) { return velocity_without_gradient(model, state); },
          .from_evidence = model.form() == Form::evidence,
          .n_activations = model.field().n_activations()};
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
          .n_activations = oracle.table().p.size(0)};
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
  return out;
}

torch::Tensor marginals_given(const Flow& flow, const StateFunction& ask, const Known& known, int64_t n_rows) {
  const auto v = torch::zeros({n_rows, flow.space.n_coordinates()}, flow.options);
  return ask({v, torch::zeros({n_rows}, flow.options), known});
}

}  // namespace segre
