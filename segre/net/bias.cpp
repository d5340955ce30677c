#include "segre/net/bias.h"

#include <torch/csrc/autograd/custom_function.h>

#include <optional>

#include "segre/kernels/bias.h"

namespace segre {
namespace {

class FusedAddBias : public torch::autograd::Function<FusedAddBias> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& h,
                               const std::optional<torch::Tensor>& skip, const torch::Tensor& bias) {
    context->saved_data["skip"] = skip.has_value();
    return kernels::add_bias(h.contiguous(), skip.has_value() ? skip->contiguous() : torch::Tensor(), bias);
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               const torch::autograd::tensor_list& grads) {
    const bool skip = context->saved_data["skip"].toBool();
    const size_t bias_at = skip ? 2 : 1;  // autograd does not count an absent skip as an input
    const auto sum = context->needs_input_grad(bias_at) ? kernels::column_sum(grads[0].contiguous()) : torch::Tensor();
    return {grads[0], skip ? grads[0] : torch::Tensor(), sum};
  }
};

}  // namespace

torch::Tensor add_bias(const torch::Tensor& h, const torch::Tensor& skip, const torch::Tensor& bias) {
  if (!kernels::bias_serves(h)) return kernels::add_bias_plain(h, skip, bias);
  return FusedAddBias::apply(h, skip.defined() ? std::optional(skip) : std::nullopt, bias);
}

}  // namespace segre
