#include "segre/net/dense.h"

#include <torch/csrc/autograd/custom_function.h>

#include "segre/kernels/dense_kernels.h"

namespace segre {
namespace {

class FusedDense : public torch::autograd::Function<FusedDense> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& weight, const torch::Tensor& shift, bool relu) {
    auto out = torch::mm(x, weight.t());
    kernels::shift_relu_(out, shift, relu);
    context->save_for_backward({x, weight, out});
    context->saved_data["relu"] = relu;
    context->saved_data["shift_per_item"] = shift.dim() == 2;
    return out;
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               const torch::autograd::tensor_list& grads) {
    const auto saved = context->get_saved_variables();
    const auto& x = saved[0];
    const auto& weight = saved[1];
    const auto out = kernels::relu_gradient(grads[0], saved[2], context->saved_data["relu"].toBool());
    const auto grad_x = context->needs_input_grad(0) ? torch::mm(out.gradient, weight) : torch::Tensor();
    const auto grad_weight = context->needs_input_grad(1) ? torch::mm(out.gradient.t(), x) : torch::Tensor();
    const auto grad_shift = context->saved_data["shift_per_item"].toBool() ? out.gradient : out.sum;
    return {grad_x, grad_weight, grad_shift, torch::Tensor()};
  }
};

}  // namespace

torch::Tensor dense(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& shift,
                    Activation activation) {
  const bool relu = activation == Activation::relu;
  if (x.is_cpu() && x.scalar_type() == torch::kFloat32) return FusedDense::apply(x, weight, shift, relu);
  const auto out = torch::addmm(shift, x, weight.t());
  return relu ? out.relu() : out;
}

}  // namespace segre
