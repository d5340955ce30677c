#include "segre/net/group_norm.h"

#include <torch/csrc/autograd/custom_function.h>

#include <optional>

#include "segre/kernels/group_norm.h"

namespace segre {
namespace {

class FusedGroupNorm : public torch::autograd::Function<FusedGroupNorm> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x_in,
                               const torch::Tensor& gamma, const torch::Tensor& beta,
                               const std::optional<torch::Tensor>& shift_in, int64_t groups, bool silu) {
    const auto x = x_in.contiguous();
    const auto shift = shift_in.has_value() ? shift_in->contiguous() : torch::Tensor();
    const auto out = kernels::group_norm_forward(x, gamma, beta, shift, groups, silu);
    context->save_for_backward({x, gamma, beta, shift, out.mean, out.rstd});
    context->saved_data["silu"] = silu;
    return out.y;
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               const torch::autograd::tensor_list& grads) {
    const auto saved = context->get_saved_variables();
    const auto out = kernels::group_norm_backward(grads[0], saved[0], saved[1], saved[2], saved[3], saved[4], saved[5],
                                                  context->saved_data["silu"].toBool());
    return {out.dx, out.dgamma, out.dbeta, out.dshift, torch::Tensor(), torch::Tensor()};
  }
};

}  // namespace

torch::Tensor group_norm(const torch::Tensor& x, const torch::Tensor& gamma, const torch::Tensor& beta,
                         const torch::Tensor& shift, int64_t groups, NormActivation activation) {
  const bool silu = activation == NormActivation::silu;
  if (kernels::group_norm_serves(x)) {
    const auto given = shift.defined() ? std::optional(shift) : std::nullopt;
    return FusedGroupNorm::apply(x, gamma, beta, given, groups, silu);
  }
  return kernels::group_norm_plain(x, gamma, beta, shift, groups, silu);
}

}  // namespace segre
