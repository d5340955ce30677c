#include "segre/net/block_ops.h"

#include <torch/csrc/autograd/custom_function.h>

#include <optional>

namespace segre {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

class FusedResidualNorm : public torch::autograd::Function<FusedResidualNorm> {
 public:
  static tensor_list forward(AutogradContext* context, const torch::Tensor& x, const std::optional<torch::Tensor>& h,
                             const torch::Tensor& gain, double share, int64_t seed, int64_t stream,
                             const torch::Tensor& first_row) {
    const auto out =
        kernels::residual_norm(x, h.value_or(torch::Tensor()), gain, dropout_of(share, seed, stream, first_row));
    context->save_for_backward({out.sum, out.scale, gain, first_row, out.kept});
    context->saved_data["h"] = h.has_value();
    context->saved_data["share"] = share;
    context->saved_data["seed"] = seed;
    context->saved_data["stream"] = stream;
    if (!h.has_value()) return {out.y};
    return {out.sum, out.y};
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& grads) {
    const auto saved = context->get_saved_variables();
    const bool has_h = context->saved_data["h"].toBool();
    const auto dropout = dropout_of(context->saved_data["share"].toDouble(), context->saved_data["seed"].toInt(),
                                    context->saved_data["stream"].toInt(), saved[3]);
    const auto& grad_y = grads.back();
    const auto grad_sum = has_h && grads[0].defined() ? grads[0].contiguous() : torch::Tensor();
    const auto out =
        kernels::residual_norm_gradients(grad_sum, grad_y.defined() ? grad_y.contiguous() : torch::zeros_like(saved[0]),
                                         {saved[0], {}, saved[1], saved[4]}, saved[2], has_h, dropout);
    const torch::Tensor none;
    if (!has_h) return {out.x, none, out.gain, none, none, none, none};
    return {out.x, out.h, out.gain, none, none, none, none};
  }

 private:
  static kernels::Dropout dropout_of(double share, int64_t seed, int64_t stream, const torch::Tensor& first_row) {
    kernels::Dropout dropout{.share = share, .first_row = first_row};
    dropout.random.seed = static_cast<uint64_t>(seed);
    dropout.random.stream = static_cast<uint64_t>(stream);
    return dropout;
  }
};

class FusedGate : public torch::autograd::Function<FusedGate> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& u) {
    context->save_for_backward({u});
    return kernels::gated(u);
  }
  static tensor_list backward(AutogradContext* context, const tensor_list& grads) {
    return {kernels::gated_gradient(grads[0].contiguous(), context->get_saved_variables()[0])};
  }
};

torch::Tensor rows_of(const torch::Tensor& x) { return x.defined() ? x.reshape({-1, x.size(-1)}).contiguous() : x; }

}  // namespace

Residual add_norm(const torch::Tensor& x, const torch::Tensor& h, const torch::Tensor& gain,
                  const kernels::Dropout& dropout) {
  const auto rows = rows_of(x);
  if (!kernels::rows_serve(rows)) {
    const auto [sum, y] = kernels::residual_norm_plain(rows, rows_of(h), gain, dropout);
    return {sum.view(x.sizes()), y.view(x.sizes())};
  }
  const auto first = dropout.share > 0.0 ? dropout.first_row : torch::zeros({1}, torch::kInt64);
  const auto out = FusedResidualNorm::apply(rows, h.defined() ? std::optional(rows_of(h)) : std::nullopt, gain,
                                            dropout.share, static_cast<int64_t>(dropout.random.seed),
                                            static_cast<int64_t>(dropout.random.stream), first);
  return {h.defined() ? out[0].view(x.sizes()) : x, out.back().view(x.sizes())};
}

torch::Tensor gate(const torch::Tensor& u) {
  const auto rows = rows_of(u);
  auto shape = u.sizes().vec();
  shape.back() /= 2;
  if (!kernels::gate_serves(rows)) return kernels::gated_plain(u);
  return FusedGate::apply(rows).view(shape);
}

}  // namespace segre
