#include "segre/net/column_ops.h"

#include <torch/csrc/autograd/custom_function.h>

namespace segre {
namespace {

using kernels::ColumnAxis;
using kernels::ColumnsSeen;
using kernels::ColumnWeights;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

ColumnAxis axis_of(const Space& space, torch::Device device) {
  return {.n_columns = space.n_variables(),
          .n_coordinates = space.n_coordinates(),
          .max_labels = space.max_labels(),
          .starts = space.is_uniform() ? torch::Tensor() : space.starts(device)};
}

void keep(AutogradContext* context, const ColumnAxis& axis) {
  context->saved_data["columns"] = axis.n_columns;
  context->saved_data["coordinates"] = axis.n_coordinates;
  context->saved_data["labels"] = axis.max_labels;
}

ColumnAxis kept_axis(AutogradContext* context, const torch::Tensor& starts) {
  return {.n_columns = context->saved_data["columns"].toInt(),
          .n_coordinates = context->saved_data["coordinates"].toInt(),
          .max_labels = context->saved_data["labels"].toInt(),
          .starts = starts};
}

torch::Tensor packed(const torch::Tensor& x) { return kernels::is_packed(x) ? x : x.contiguous().clone(); }

class FusedTokens : public torch::autograd::Function<FusedTokens> {
 public:
  static torch::Tensor forward(AutogradContext* context, const ColumnAxis& axis, const ColumnsSeen& seen,
                               const torch::Tensor& labels, const torch::Tensor& evidence,
                               const torch::Tensor& strength, const torch::Tensor& position) {
    keep(context, axis);
    context->save_for_backward({seen.point, seen.evidence, seen.strength, axis.starts});
    return kernels::column_tokens(axis, seen, {labels, evidence, strength, position});
  }
  static tensor_list backward(AutogradContext* context, const tensor_list& grads) {
    const auto saved = context->get_saved_variables();
    const auto out = kernels::column_tokens_gradients(kept_axis(context, saved[3]), {saved[0], saved[1], saved[2]},
                                                      packed(grads[0]));
    return {{}, {}, out.labels, out.evidence, out.strength, out.position};
  }
};

class FusedLogits : public torch::autograd::Function<FusedLogits> {
 public:
  static torch::Tensor forward(AutogradContext* context, const ColumnAxis& axis, const torch::Tensor& y,
                               const torch::Tensor& labels, const torch::Tensor& bias) {
    keep(context, axis);
    context->save_for_backward({y, labels, axis.starts});
    return kernels::column_logits(axis, y, labels, bias);
  }
  static tensor_list backward(AutogradContext* context, const tensor_list& grads) {
    const auto saved = context->get_saved_variables();
    const auto out =
        kernels::column_logits_gradients(kept_axis(context, saved[2]), grads[0].contiguous(), saved[0], saved[1]);
    return {{}, out.y, out.labels, out.bias};
  }
};

bool is_constant_single(const torch::Tensor& x) {
  return x.defined() && x.is_cuda() && x.scalar_type() == torch::kFloat32 && !x.requires_grad() && x.numel() > 0;
}

}  // namespace

bool fuses_column_tokens(const Space& space, const FieldInput& input, const ColumnWeights& weights) {
  for (const auto* seen : {&input.W, &input.strength, &input.standardised})
    if (!is_constant_single(*seen)) return false;
  for (const auto* weight : {&weights.labels, &weights.evidence, &weights.strength, &weights.position})
    if (!weight->defined() || weight->scalar_type() != weights.labels.scalar_type() || !kernels::is_packed(*weight))
      return false;
  return space.max_labels() <= kernels::kMaxColumnLabels &&
         kernels::columns_serve(axis_of(space, input.W.device()), weights.labels);
}

torch::Tensor fused_column_tokens(const Space& space, const FieldInput& input, const ColumnWeights& weights) {
  const ColumnsSeen seen{.point = input.W.contiguous(),
                         .evidence = input.standardised.contiguous(),
                         .strength = input.strength.contiguous()};
  return FusedTokens::apply(axis_of(space, input.W.device()), seen, weights.labels, weights.evidence, weights.strength,
                            weights.position);
}

bool fuses_column_logits(const Space& space, const torch::Tensor& y, const torch::Tensor& labels,
                         const torch::Tensor& bias) {
  return y.is_cuda() && y.numel() > 0 && y.scalar_type() == labels.scalar_type() && bias.is_contiguous() &&
         bias.scalar_type() == torch::kFloat32 && space.max_labels() <= kernels::kMaxColumnLabels &&
         kernels::columns_serve(axis_of(space, y.device()), labels);
}

torch::Tensor fused_column_logits(const Space& space, const torch::Tensor& y, const torch::Tensor& labels,
                                  const torch::Tensor& bias) {
  return FusedLogits::apply(axis_of(space, y.device()), packed(y), labels, bias);
}

}  // namespace segre
