#include "segre/kernels/residual_norm.h"

#include <torch/csrc/autograd/custom_function.h>

#include <optional>

#include "segre/core/error.h"
#include "segre/kernels/launch_parts.h"
#include "segre/kernels/residual_norm_cpu.h"
#include "segre/kernels/residual_norm_parts.h"

namespace segre::kernels {
namespace {

bool has_kernels(const torch::Tensor& x) {
  if (x.dim() != 2 || x.numel() == 0) return false;
  if (x.scalar_type() != torch::kFloat32 && x.scalar_type() != torch::kBFloat16) return false;
#ifdef SEGRE_CUDA
  return x.is_cpu() || x.is_cuda();
#else
  return x.is_cpu();
#endif
}

void require(bool fits, const char* what, const torch::Tensor& found) {
  if (!fits) fail("a norm of rows: expected ", what, ", found ", found.sizes(), " of ", found.dtype());
}

void check_rows(const torch::Tensor& x, const torch::Tensor& h, const torch::Tensor& gain) {
  require(rows_serve(x) && x.is_contiguous(), "contiguous rows [M, C] of a supported type", x);
  require(gain.scalar_type() == torch::kFloat32 && gain.dim() == 1 && gain.size(0) == x.size(1) &&
              gain.is_contiguous() && gain.device() == x.device(),
          "a gain [C] in float32", gain);
  if (h.defined())
    require(
        h.sizes() == x.sizes() && h.scalar_type() == x.scalar_type() && h.is_contiguous() && h.device() == x.device(),
        "a contiguous h of x's shape and type", h);
}

#ifdef SEGRE_CUDA
detail::DropoutRows rows_of(const Dropout& dropout) {
  return {static_cast<float>(dropout.share), dropout.random.seed, dropout.random.stream,
          dropout.share > 0.0 ? dropout.first_row.data_ptr<int64_t>() : nullptr};
}

#endif

}  // namespace

bool rows_serve(const torch::Tensor& x) {
  if (!has_kernels(x)) return false;
  return x.is_cpu() || (x.size(1) <= detail::kMaxRowChannels && x.size(1) % 8 == 0);
}

bool gate_serves(const torch::Tensor& u) { return has_kernels(u) && (u.is_cpu() || u.size(1) % 16 == 0); }

ResidualNorm residual_norm(const torch::Tensor& x, const torch::Tensor& h, const torch::Tensor& gain,
                           const Dropout& dropout) {
  check_rows(x, h, gain);
  ResidualNorm out{h.defined() ? torch::empty_like(x) : x,
                   torch::empty_like(x),
                   torch::empty({x.size(0)}, x.options().dtype(torch::kFloat32)),
                   {}};
  if (x.device().is_cpu()) {
    residual_norm_cpu(x, h, gain, dropout, out);
    return out;
  }
#ifdef SEGRE_CUDA
  if (dropout.share > 0.0)
    out.kept = torch::empty({x.size(0), x.size(1) / 8}, x.options().dtype(torch::kUInt8).requires_grad(false));
  detail::residual_norm_cuda(data_of(x), data_of(h), gain.data_ptr<float>(), data_of(out.sum), data_of(out.y),
                             out.scale.data_ptr<float>(), static_cast<uint8_t*>(data_of(out.kept)), x.size(0),
                             x.size(1), rows_of(dropout), is_half(x), stream_of(x));
#endif
  return out;
}

ResidualNormGradients residual_norm_gradients(const torch::Tensor& grad_sum, const torch::Tensor& grad_y,
                                              const ResidualNorm& forward, const torch::Tensor& gain, bool has_h,
                                              const Dropout& dropout) {
  if (grad_y.device().is_cpu()) return residual_norm_gradients_cpu(grad_sum, grad_y, forward, gain, has_h, dropout);
  ResidualNormGradients out{torch::empty_like(grad_y), has_h ? torch::empty_like(grad_y) : torch::Tensor(),
                            torch::empty_like(gain)};
#ifdef SEGRE_CUDA
  const auto partial =
      torch::empty({detail::residual_norm_blocks(grad_y.size(0)), grad_y.size(1)}, gain.options().requires_grad(false));
  detail::residual_norm_gradients_cuda(
      data_of(grad_sum), data_of(grad_y), data_of(forward.sum), forward.scale.data_ptr<float>(), gain.data_ptr<float>(),
      data_of(out.x), data_of(out.h), partial.data_ptr<float>(), out.gain.data_ptr<float>(),
      static_cast<const uint8_t*>(data_of(forward.kept)), static_cast<float>(dropout.share), grad_y.size(0),
      grad_y.size(1), is_half(grad_y), stream_of(grad_y));
#endif
  return out;
}

std::pair<torch::Tensor, torch::Tensor> residual_norm_plain(const torch::Tensor& x, const torch::Tensor& h,
                                                            const torch::Tensor& gain, const Dropout& dropout) {
  auto sum = x;
  if (h.defined() && dropout.share > 0.0) {
    const auto numbers = fill_uniform(torch::empty(h.sizes(), h.options().dtype(torch::kFloat32).requires_grad(false)),
                                      dropout.random, dropout.first_row * h.size(1));
    const auto kept = (numbers >= static_cast<float>(dropout.share)).to(h.scalar_type());
    sum = x + h * kept / (1.0 - dropout.share);
  } else if (h.defined()) {
    sum = x + h;
  }
  const auto wide = sum.to(gain.scalar_type());
  const auto scale = (wide.square().mean(-1, /*keepdim=*/true) + kNormEpsilon).rsqrt();
  return {sum, (wide * scale * gain).to(x.scalar_type())};
}

torch::Tensor gated(const torch::Tensor& u) {
  require(u.dim() == 2 && u.is_contiguous() && u.size(1) % 2 == 0, "contiguous rows [M, 2 F]", u);
  const int64_t F = u.size(1) / 2;
  auto out = torch::empty({u.size(0), F}, u.options().requires_grad(false));
  if (u.device().is_cpu()) {
    gated_cpu(u, out);
    return out;
  }
#ifdef SEGRE_CUDA
  detail::gated_cuda(data_of(u), data_of(out), u.size(0), F, is_half(u), stream_of(u));
#endif
  return out;
}

torch::Tensor gated_gradient(const torch::Tensor& grad, const torch::Tensor& u) {
  auto out = torch::empty_like(u);
  if (u.device().is_cpu()) {
    gated_gradient_cpu(grad, u, out);
    return out;
  }
#ifdef SEGRE_CUDA
  detail::gated_gradient_cuda(data_of(grad), data_of(u), data_of(out), u.size(0), u.size(1) / 2, is_half(u),
                              stream_of(u));
#endif
  return out;
}

torch::Tensor gated_plain(const torch::Tensor& u) {
  const auto parts = u.chunk(2, -1);
  return torch::silu(parts[0]) * parts[1];
}

}  // namespace segre::kernels

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
