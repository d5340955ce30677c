#include "segre/kernels/group_norm.h"

#include <torch/csrc/autograd/custom_function.h>

#include <optional>

#include "segre/core/error.h"
#include "segre/kernels/group_norm_parts.h"
#include "segre/kernels/launch_parts.h"

namespace segre::kernels {
namespace {

using detail::GroupNormShape;

void require(bool fits, const char* what, const torch::Tensor& found) {
  if (!fits) fail("group norm: expected ", what, ", found ", found.sizes(), " of ", found.dtype());
}

bool is_float32(const torch::Tensor& x, at::IntArrayRef sizes, const torch::Tensor& like) {
  return x.scalar_type() == torch::kFloat32 && x.sizes() == sizes && x.is_contiguous() && x.device() == like.device();
}

GroupNormShape checked_shape(const torch::Tensor& x, const torch::Tensor& gamma, const torch::Tensor& beta,
                             const torch::Tensor& shift, int64_t groups, bool silu) {
  require(group_norm_serves(x) && x.is_contiguous(), "contiguous x [N, P, C] of a supported type", x);
  const GroupNormShape shape{x.size(0), x.size(1), x.size(2), groups, silu};
  if (groups < 1 || shape.channels % groups != 0)
    fail("group norm: ", shape.channels, " channels do not divide into ", groups, " groups");
  require(is_float32(gamma, {shape.channels}, x), "gamma [C] in float32", gamma);
  require(is_float32(beta, {shape.channels}, x), "beta [C] in float32", beta);
  if (shift.defined()) require(is_float32(shift, {shape.items, shape.channels}, x), "shift [N, C] in float32", shift);
  return shape;
}

detail::GroupNormWeights weights_of(const torch::Tensor& gamma, const torch::Tensor& beta, const torch::Tensor& shift) {
  return {gamma.data_ptr<float>(), beta.data_ptr<float>(), shift.defined() ? shift.data_ptr<float>() : nullptr};
}

#ifdef SEGRE_CUDA
// Scratch memory of the kernels; the allocator does not reuse it before the stream has passed them.
struct Scratch {
  Scratch(const GroupNormShape& shape, const detail::GroupNormPlan& plan, const torch::TensorOptions& options) {
    if (plan.whole) return;
    partial = torch::empty({shape.items, plan.slabs, 3, shape.channels}, options);
    pivot = torch::empty({shape.items, shape.channels}, options);
  }
  detail::GroupNormScratch pointers() const {
    if (!partial.defined()) return {nullptr, nullptr};
    return {partial.data_ptr<float>(), pivot.data_ptr<float>()};
  }
  torch::Tensor partial, pivot;
};

#endif

}  // namespace

bool group_norm_serves(const torch::Tensor& x) {
  if (x.dim() != 3 || x.numel() == 0) return false;
  if (x.device().is_cpu()) return x.scalar_type() == torch::kFloat32;
#ifdef SEGRE_CUDA
  constexpr int64_t kIndexable = int64_t{1} << 30;  // an item is indexed with 32 bits
  return x.is_cuda() && (x.scalar_type() == torch::kFloat32 || x.scalar_type() == torch::kBFloat16) &&
         x.size(2) <= detail::kGroupNormMaxChannels && x.size(1) * x.size(2) < kIndexable;
#else
  return false;
#endif
}

GroupNormForward group_norm_forward(const torch::Tensor& x, const torch::Tensor& gamma, const torch::Tensor& beta,
                                    const torch::Tensor& shift, int64_t groups, bool silu, double eps) {
  const GroupNormShape shape = checked_shape(x, gamma, beta, shift, groups, silu);
  const auto options = x.options().dtype(torch::kFloat32);
  GroupNormForward out{torch::empty_like(x), torch::empty({shape.items, groups}, options),
                       torch::empty({shape.items, groups}, options)};
  const auto weights = weights_of(gamma, beta, shift);
  auto* mean = out.mean.data_ptr<float>();
  auto* rstd = out.rstd.data_ptr<float>();
  if (x.device().is_cpu()) {
    detail::group_norm_forward_cpu(shape, x.data_ptr<float>(), weights, eps, out.y.data_ptr<float>(), mean, rstd);
    return out;
  }
#ifdef SEGRE_CUDA
  const auto plan = detail::group_norm_plan(shape, x.element_size());
  const Scratch scratch(shape, plan, options);
  detail::group_norm_forward_cuda(shape, plan, x.scalar_type() == torch::kBFloat16, x.data_ptr(), weights,
                                  static_cast<float>(eps), out.y.data_ptr(), mean, rstd, scratch.pointers(),
                                  stream_of(x));
#endif
  return out;
}

GroupNormBackward group_norm_backward(const torch::Tensor& dy, const torch::Tensor& x, const torch::Tensor& gamma,
                                      const torch::Tensor& beta, const torch::Tensor& shift, const torch::Tensor& mean,
                                      const torch::Tensor& rstd, bool silu) {
  require(mean.dim() == 2, "mean [N, G]", mean);
  const GroupNormShape shape = checked_shape(x, gamma, beta, shift, mean.size(1), silu);
  require(is_float32(mean, {shape.items, shape.groups}, x), "mean [N, G] in float32", mean);
  require(is_float32(rstd, {shape.items, shape.groups}, x), "rstd [N, G] in float32", rstd);
  require(dy.sizes() == x.sizes() && dy.scalar_type() == x.scalar_type() && dy.device() == x.device(), "dy like x", dy);
  const auto dy_here = dy.contiguous();
  const auto options = x.options().dtype(torch::kFloat32);
  auto sums = torch::empty({2, shape.items, shape.channels}, options);
  GroupNormBackward out{torch::empty_like(x), {}, {}, {}};
  if (shift.defined()) out.dshift = torch::empty_like(shift);
  auto* sums_at = sums.data_ptr<float>();
  const detail::GroupNormSums sums_here{sums_at, sums_at + shape.items * shape.channels,
                                        shift.defined() ? out.dshift.data_ptr<float>() : nullptr};
  const auto weights = weights_of(gamma, beta, shift);
  const auto* mean_at = mean.data_ptr<float>();
  const auto* rstd_at = rstd.data_ptr<float>();
  if (x.device().is_cpu()) {
    detail::group_norm_backward_cpu(shape, dy_here.data_ptr<float>(), x.data_ptr<float>(), weights, mean_at, rstd_at,
                                    out.dx.data_ptr<float>(), sums_here);
    const auto totals = sums.sum(1, /*keepdim=*/false, torch::kFloat64).to(torch::kFloat32);
    out.dbeta = totals[0];
    out.dgamma = totals[1];
    return out;
  }
#ifdef SEGRE_CUDA
  out.dgamma = torch::empty({shape.channels}, options);
  out.dbeta = torch::empty({shape.channels}, options);
  const auto plan = detail::group_norm_plan(shape, x.element_size());
  const Scratch scratch(shape, plan, options);
  detail::group_norm_backward_cuda(shape, plan, x.scalar_type() == torch::kBFloat16, dy_here.data_ptr(), x.data_ptr(),
                                   weights, mean_at, rstd_at, out.dx.data_ptr(), sums_here,
                                   out.dgamma.data_ptr<float>(), out.dbeta.data_ptr<float>(), scratch.pointers(),
                                   stream_of(x));
#endif
  return out;
}

torch::Tensor group_norm_plain(const torch::Tensor& x, const torch::Tensor& gamma, const torch::Tensor& beta,
                               const torch::Tensor& shift, int64_t groups, bool silu, double eps) {
  const bool half = x.scalar_type() == torch::kBFloat16 || x.scalar_type() == torch::kFloat16;
  const auto type = half ? torch::kFloat32 : x.scalar_type();
  auto u = x.to(type);
  if (shift.defined()) u = u + shift.to(type).unsqueeze(1);
  const auto grouped = u.reshape({x.size(0), x.size(1), groups, -1});
  const auto centered = grouped - grouped.mean({1, 3}, /*keepdim=*/true);
  const auto rstd = (centered.square().mean({1, 3}, /*keepdim=*/true) + eps).rsqrt();
  const auto z = (centered * rstd).reshape(x.sizes()) * gamma.to(type) + beta.to(type);
  return (silu ? z * z.sigmoid() : z).to(x.scalar_type());
}

}  // namespace segre::kernels

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
