#include "segre/model/model.h"

#include "segre/core/error.h"
#include "segre/path/known_rows.h"
#include "segre/path/simplex.h"
#include "segre/space/blocks.h"

namespace segre {

namespace {

// One of the network's weights; it determines the model's type and device.
const torch::Tensor& a_weight(const std::shared_ptr<Field>& field) {
  if (!field) fail_input("a model needs a network, found none");
  for (const auto* list : {&field->parameters(), &field->buffers()})
    for (const auto& [name, tensor] : *list)
      if (tensor.is_floating_point()) return tensor;
  fail_input("a model needs a network with parameters, found one without");
}

constexpr int64_t kTicks = 257;       // of the table that turns a/s into t
constexpr double kLeastScale = 1e-6;  // variables with one label have no scale
constexpr double kMostBehind = 5.0;   // nats by which a label is shown to trail the second best

// Whether the kernels give what the network is shown of v.
bool is_fused(const torch::Tensor& v) { return kernels::serves(v) && !v.requires_grad(); }

// a/s at kTicks evenly spaced times from 0 to t1.
torch::Tensor ratios(const Path& path, double t1, torch::TensorOptions options) {
  std::vector<double> out;
  for (int64_t k = 0; k < kTicks; ++k) {
    const auto at = path.at(t1 * static_cast<double>(k) / static_cast<double>(kTicks - 1));
    out.push_back(at.a / at.s);
  }
  return torch::tensor(out, torch::kFloat64).to(options);
}

}  // namespace

void declare_form_key(ConfigSchema& schema, Form& form) {
  schema.choice<Form>(
      "model.form", &form, {{"velocity", Form::velocity}, {"endpoint", Form::endpoint}, {"evidence", Form::evidence}},
      Later::fixed,
      "what the network outputs: the velocity (the paper), label logits, or the message from the other variables");
}

Model::Model(Space space, std::shared_ptr<const Path> path, Form form, std::shared_ptr<Field> field)
    : space_(std::move(space)), path_(std::move(path)), form_(form), field_(std::move(field)) {
  const auto& weight = a_weight(field_);
  if (!path_) fail_input("a model needs a path, found none");
  scales_ = variable_scales(space_, *path_, weight.options().requires_grad(false));
  coordinate_scales_ = space_.is_uniform() ? scales_.slice(0, 0, 1) : spread(space_, scales_);
  evenly_ = lift(space_, torch::zeros({space_.n_coordinates()}, scales_.options()));
  t1_ = decision_time(space_, *path_);
  clock_ = ratios(*path_, t1_, scales_.options());
  most_lead_ = spread(space_, (scales_ * clock_.slice(0, -1)).square());
}

torch::Tensor Model::evidence(const State& state) const {
  const auto ratio = evidence_ratio(state.t);
  auto e = state.v * ((ratio.dim() == 2 ? spread(space_, ratio) : ratio.unsqueeze(1)) * coordinate_scales_);
  e = only_open(space_, state.known, e);
  return state.known.soft.defined() ? e + state.known.soft : e;
}

torch::Tensor Model::evidence_ratio(const torch::Tensor& t) const {
  if (form_ != Form::evidence) return torch::empty({0}, t.options());
  const auto at = path_->at(t);
  return at.a / at.s.square();
}

torch::Tensor Model::network_input(const State& state) const {
  const auto& v = state.v;
  const auto& known = state.known;
  if (!known.nothing() && form_ != Form::evidence)
    fail_input("model.form = \"", form_ == Form::velocity ? "velocity" : "endpoint",
               "\" does not accept known labels; train a model with model.form = \"evidence\"");
  if (is_fused(v)) {
    if (form_ == Form::evidence)
      return kernels::scaled_softmax(v.contiguous(), space_, evidence_ratio(state.t).contiguous(), scales_,
                                     known_rows(known));
    return kernels::scaled_softmax(v.contiguous(), space_, torch::ones({1}, v.options()), torch::ones_like(scales_));
  }
  const auto W = lift(space_, form_ == Form::evidence ? evidence(state) : v);
  return field_->embeds_labels() ? W : with_corners(space_, known, W);
}

// Soft evidence as a path shows evidence: [B, S], mean 0 per variable. Given the label k, e_k leads the others by as
// much as the path is certain, and these scatter around a common value. So labels may trail the second best by no more
// than a path of that certainty makes likely: an excluded label, at minus infinity, would drown everything else that a
// network is shown. Nothing that excludes a label is lost: logits and readouts add the evidence as it is.
torch::Tensor Model::limited(const torch::Tensor& soft) const {
  return map_blocks(space_, {soft, most_lead_.expand_as(soft)}, [](const auto& in) {
    const auto& s = in[0];
    if (s.size(-1) == 1) return torch::zeros_like(s);
    const auto best = s.amax(-1, /*keepdim=*/true);
    const auto second = std::get<0>(s.topk(2, -1)).narrow(-1, 1, 1);
    // Labels may be excluded by -infinity, all but one of them too.
    const auto lead = torch::minimum(best - second, in[1].narrow(-1, 0, 1));
    const auto level = torch::where(s < best, (s - second).nan_to_num(0.0).clamp_min(-kMostBehind) - lead,
                                    torch::zeros({1}, s.options()));
    return level - level.mean(-1, true);
  });
}

// The mean log odds g/2 at which the evidence of a path has, on average, the size of this (limited) one: [B, n]. Its
// mean is g/2 (e_k - 1/c) and its covariance g/2 on c - 1 dimensions, so E|e|^2 = (c - 1) (g^2 / 4c + g / 2).
torch::Tensor Model::soft_odds(const torch::Tensor& limited_soft) const {
  return reduce_blocks(space_, {limited_soft}, [](const auto& in) {
    const auto c = static_cast<double>(in[0].size(-1));
    if (in[0].size(-1) == 1) return torch::zeros_like(in[0].select(-1, 0));  // nothing to know
    const auto size = in[0].square().sum(-1);
    return 0.5 * c * ((1.0 + 4.0 / (c * (c - 1.0)) * size).sqrt() - 1.0);
  });
}

torch::Tensor Model::certainty(const State& state) const {
  const auto at = path_->at(state.t.dim() == 1 ? state.t.unsqueeze(1) : state.t);
  const auto odds = soft_odds(limited(state.known.soft)) / scales_.square().clamp_min(kLeastScale);
  const auto of_all = ((at.a / at.s).square() + odds).sqrt().contiguous();
  const auto tick = torch::searchsorted(clock_, of_all).clamp(1, clock_.numel() - 1);
  const auto low = clock_.index_select(0, (tick - 1).flatten()).view_as(of_all);
  const auto high = clock_.index_select(0, tick.flatten()).view_as(of_all);
  const auto within = ((of_all - low) / (high - low)).clamp(0.0, 1.0);
  return (t1_ / static_cast<double>(clock_.numel() - 1)) * (tick - 1 + within);
}

torch::Tensor Model::network_time(const State& state) const {
  if (!state.known.soft.defined() && state.t.dim() == 1) return state.t;
  const auto t = state.known.soft.defined() ? certainty(state) : state.t;
  if (!state.known.labels.defined()) return t.mean(1);
  const auto open = open_variables(state.known).to(t.scalar_type());
  return (t * open).sum(1) / open.sum(1).clamp_min(1.0);
}

// Given the label, log p(e | j) - log p(e | k) has the variance 2 kappa^2 (a/s)^2 for any other labels j, k.
torch::Tensor Model::strength(const State& state) const {
  const auto& [labels, soft] = state.known;
  const auto at = path_->at(state.t.dim() == 1 ? state.t.unsqueeze(1) : state.t);
  auto g = 2.0 * (scales_ * at.a / at.s).square();
  if (labels.defined()) g = torch::where(labels == kUnknown, g, torch::zeros({1}, g.options()));
  if (soft.defined()) g = g + 2.0 * soft_odds(limited(soft));
  if (labels.defined()) g = torch::where(labels >= 0, 2.0 * (scales_ * clock_.slice(0, -1)).square(), g);
  return g.expand({state.v.size(0), scales_.size(0)});
}

// A known label has no evidence but a corner: it is shown the mean evidence of the decision time, g/2 (e_label - 1/c).
torch::Tensor Model::standardised(const State& state, const FieldInput& input) const {
  const auto& g = input.strength;
  const auto shrink = (1.0 + g).rsqrt();
  const auto z = evidence(shown_state(state)) * spread(space_, shrink);
  const auto& labels = state.known.labels;
  if (!labels.defined()) return z;
  const auto corner = (input.W - evenly_) * spread(space_, 0.5 * g * shrink);
  return torch::where(spread(space_, labels >= 0), corner, z);
}

State Model::shown_state(const State& state) const {
  State shown = state;
  if (shown.known.soft.defined()) shown.known.soft = limited(shown.known.soft);
  return shown;
}

FieldInput Model::field_input(const State& state) const {
  const auto& known = state.known;
  FieldInput input{.W = {}, .t = network_time(state), .known = known.labels, .training = state.training};
  const FieldReads reads = field_->reads();
  const bool reads_evidence = reads != FieldReads::point && form_ == Form::evidence;
  if (reads_evidence && is_fused(state.v)) {
    // Corners of known labels cost nothing here, so W has them even if the network looks the labels up by itself.
    const auto at = path_->at(state.t);
    const Known limited_known = shown_state(state).known;
    auto shown =
        kernels::evidence_inputs(state.v.contiguous(), space_,
                                 {.scale = (at.a / at.s.square()).contiguous(),
                                  .ratio = (at.a / at.s).contiguous(),
                                  .last = clock_.slice(0, -1)},
                                 scales_, known_rows(limited_known),
                                 known.soft.defined() ? soft_odds(limited_known.soft).contiguous() : known.soft,
                                 reads == FieldReads::standardised);
    input.W = known.soft.defined() ? network_input(state) : std::move(shown.W);
    input.strength = std::move(shown.strength);
    input.standardised = std::move(shown.standardised);
    return input;
  }
  input.W = network_input(state);
  if (!reads_evidence) return input;
  input.strength = strength(state);
  if (reads == FieldReads::standardised) input.standardised = standardised(state, input);
  return input;
}

torch::Tensor Model::network_output(const State& state) const {
  auto output = field_->forward(field_input(state));
  const auto& v = state.v;
  // Kernels read its memory as [B, S], but a user's own network may return something else.
  if (!output.defined() || output.sizes() != v.sizes() || output.scalar_type() != v.scalar_type())
    fail("the network returned ",
         output.defined() ? concat(output.dtype().name(), " of shape ", output.sizes()) : "no tensor", ", but ",
         v.dtype().name(), " of shape ", v.sizes(), " was expected");
  return output;
}

torch::Tensor Model::logits(const State& state) const {
  if (form_ == Form::velocity) fail("a model in the velocity form has no label logits");
  const auto output = network_output(state);
  return form_ == Form::evidence ? output + evidence(state) : output;
}

torch::Tensor Model::endpoint(const State& state) const {
  if (form_ == Form::velocity) return endpoint_from_velocity(*path_, velocity(state), state.v, state.t);
  return only_open(space_, state.known, mean_corner(space_, *path_, lift(space_, logits(state))));
}

torch::Tensor Model::velocity(const State& state) const {
  if (form_ == Form::velocity) return project(space_, network_output(state));
  return velocity_from_endpoint(*path_, endpoint(state), only_open(space_, state.known, state.v), state.t);
}

torch::Tensor Model::velocity_at(const torch::Tensor& v, double t, const Known& known) const {
  const torch::NoGradGuard no_grad;
  const State state{v, torch::full({1}, t, v.options()), known};
  if (form_ == Form::velocity || !kernels::serves(v)) return velocity(state);
  const auto at = path_->at(t);
  const double pull = at.ds / at.s;
  const double evidence = form_ == Form::evidence ? at.a / (at.s * at.s) : 0.0;
  return kernels::endpoint_velocity(network_output(state).contiguous(), v.contiguous(), space_, evidence,
                                    at.da - at.a * pull, pull, scales_, known_rows(known));
}

}  // namespace segre
