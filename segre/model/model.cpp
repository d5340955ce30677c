#include "segre/model/model.h"

#include "segre/core/error.h"
#include "segre/kernels/path_kernels.h"
#include "segre/simplex/lift.h"
#include "segre/simplex/tangent.h"
#include "segre/space/blocks.h"

namespace segre {

namespace {

// One of the network's weights; it determines the model's type and device.
const torch::Tensor& a_weight(const std::shared_ptr<Field>& field) {
  if (!field) fail_input("a model needs a network, found none");
  if (field->parameters().empty()) fail_input("a model needs a network with parameters, found one without");
  return field->parameters().front().second;
}

}  // namespace

void declare_form_key(ConfigSchema& schema, Form& form) {
  schema.choice<Form>(
      "model.form", &form, {{"velocity", Form::velocity}, {"endpoint", Form::endpoint}, {"evidence", Form::evidence}},
      Later::fixed,
      "what the network gives: the velocity (the paper), label logits, or the message from the other variables");
}

Model::Model(Space space, std::shared_ptr<const Path> path, Form form, std::shared_ptr<Field> field)
    : space_(std::move(space)), path_(std::move(path)), form_(form), field_(std::move(field)) {
  const auto& weight = a_weight(field_);
  if (!path_) fail_input("a model needs a path, found none");
  scales_ = variable_scales(space_, *path_, weight.options().requires_grad(false));
  coordinate_scales_ = space_.is_uniform() ? scales_.slice(0, 0, 1) : spread(space_, scales_);
}

torch::Tensor Model::evidence(const torch::Tensor& v, const torch::Tensor& t) const {
  return v * (evidence_ratio(t).unsqueeze(1) * coordinate_scales_);
}

torch::Tensor Model::evidence_ratio(const torch::Tensor& t) const {
  if (form_ != Form::evidence) return torch::empty({0}, t.options());
  const auto at = path_->at(t);
  return at.a / at.s.square();
}

torch::Tensor Model::network_input(const torch::Tensor& v, const torch::Tensor& t) const {
  if (kernels::serves(v) && !v.requires_grad()) {
    if (form_ == Form::evidence)
      return kernels::scaled_softmax(v.contiguous(), space_, evidence_ratio(t).contiguous(), scales_);
    return kernels::scaled_softmax(v.contiguous(), space_, torch::ones({1}), torch::ones({space_.n_variables()}));
  }
  return lift(space_, form_ == Form::evidence ? evidence(v, t) : v);
}

torch::Tensor Model::network_output(const torch::Tensor& v, const torch::Tensor& t) const {
  auto output = field_->forward(network_input(v, t), t);
  // Kernels read its memory as [B, S], but a user's own network may return something else.
  if (!output.defined() || output.sizes() != v.sizes() || output.scalar_type() != v.scalar_type())
    fail("the network returned ",
         output.defined() ? concat(output.dtype().name(), " of shape ", output.sizes()) : "no tensor", ", but ",
         v.dtype().name(), " of shape ", v.sizes(), " was expected");
  return output;
}

torch::Tensor Model::logits(const torch::Tensor& v, const torch::Tensor& t) const {
  if (form_ == Form::velocity) fail("a model in the velocity form has no label logits");
  const auto output = network_output(v, t);
  return form_ == Form::evidence ? output + evidence(v, t) : output;
}

torch::Tensor Model::endpoint(const torch::Tensor& v, const torch::Tensor& t) const {
  if (form_ == Form::velocity) return endpoint_from_velocity(*path_, velocity(v, t), v, t);
  return mean_corner(space_, *path_, lift(space_, logits(v, t)));
}

torch::Tensor Model::velocity(const torch::Tensor& v, const torch::Tensor& t) const {
  if (form_ == Form::velocity) return project(space_, network_output(v, t));
  return velocity_from_endpoint(*path_, endpoint(v, t), v, t);
}

torch::Tensor Model::velocity_at(const torch::Tensor& v, double t) const {
  const torch::NoGradGuard no_grad;
  const auto time = torch::full({1}, t, v.options());
  if (form_ == Form::velocity || !kernels::serves(v)) return velocity(v, time);
  const auto at = path_->at(t);
  const double pull = at.ds / at.s;
  const double evidence = form_ == Form::evidence ? at.a / (at.s * at.s) : 0.0;
  return kernels::endpoint_velocity(network_output(v, time).contiguous(), v.contiguous(), space_, evidence,
                                    at.da - at.a * pull, pull, scales_);
}

}  // namespace segre
