#include "segre/kernels/column_tokens.h"

#include <torch/csrc/autograd/custom_function.h>

#include <limits>

#include "segre/core/error.h"
#include "segre/kernels/column_tokens_parts.h"
#include "segre/kernels/launch_parts.h"

namespace segre::kernels {
namespace {

void require(bool fits, const char* what, const torch::Tensor& found) {
  if (fits) return;
  if (!found.defined()) fail("columns: expected ", what, ", found none");
  fail("columns: expected ", what, ", found ", found.sizes(), " of ", found.dtype());
}

bool is_of(const torch::Tensor& x, at::IntArrayRef shape, const torch::Tensor& like) {
  return x.defined() && x.sizes() == shape && x.scalar_type() == like.scalar_type() && x.device() == like.device() &&
         is_packed(x);
}

// Numbers that the kernels read one by one.
bool is_single(const torch::Tensor& x, at::IntArrayRef shape, const torch::Tensor& like) {
  return x.defined() && x.sizes() == shape && x.scalar_type() == torch::kFloat32 && x.device() == like.device() &&
         x.is_contiguous();
}

void check_seen(const ColumnAxis& axis, const ColumnsSeen& seen, int64_t B, const torch::Tensor& like) {
  require(is_single(seen.point, {B, axis.n_coordinates}, like), "W [B, S] in float32", seen.point);
  if (seen.evidence.defined())
    require(is_single(seen.evidence, {B, axis.n_coordinates}, like), "z [B, S] in float32", seen.evidence);
  if (seen.strength.defined())
    require(is_single(seen.strength, {B, axis.n_columns}, like), "g [B, n] in float32", seen.strength);
}

void check_weights(const ColumnAxis& axis, const ColumnsSeen& seen, const ColumnWeights& weights) {
  const auto& E = weights.labels;
  require(columns_serve(axis, E), "label weights [S, d] that the kernels support", E);
  const int64_t d = E.size(1);
  if (seen.evidence.defined())
    require(is_of(weights.evidence, E.sizes(), E), "evidence weights [S, d]", weights.evidence);
  if (!seen.strength.defined()) return;
  require(is_of(weights.strength, {1, d}, E), "strength weights [1, d]", weights.strength);
  require(is_of(weights.position, {axis.n_columns, d}, E), "positions [n, d]", weights.position);
}

// Tokens, or their gradient.
void check_tokens(const ColumnAxis& axis, const torch::Tensor& tokens) {
  require(tokens.defined() && tokens.is_cuda() && tokens.dim() == 3 && tokens.numel() > 0 &&
              tokens.size(1) == axis.n_columns && tokens.size(2) % 8 == 0 && is_packed(tokens),
          "packed tokens [B, n, d] on CUDA", tokens);
}

#ifdef SEGRE_CUDA
float* numbers_at(const torch::Tensor& x) { return x.defined() ? x.data_ptr<float>() : nullptr; }

detail::ColumnSizes sizes_of(const ColumnAxis& axis, int64_t B, int64_t d) {
  return {B, axis.n_columns,  axis.n_coordinates,
          d, axis.max_labels, axis.starts.defined() ? axis.starts.data_ptr<int64_t>() : nullptr};
}

detail::SeenColumns pointers_of(const ColumnsSeen& seen) {
  return {numbers_at(seen.point), numbers_at(seen.evidence), numbers_at(seen.strength)};
}

template <class Pointer>
detail::OfColumns<Pointer> pointers_of(const ColumnWeights& weights) {
  return {data_of(weights.labels), data_of(weights.evidence), data_of(weights.strength), data_of(weights.position)};
}
#endif

}  // namespace

bool is_packed(const torch::Tensor& x) {
  return x.is_contiguous() && reinterpret_cast<std::uintptr_t>(x.data_ptr()) % 16 == 0;
}

bool columns_serve([[maybe_unused]] const ColumnAxis& axis, [[maybe_unused]] const torch::Tensor& labels) {
#ifdef SEGRE_CUDA
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();  // the kernels count weights with int
  const auto type = labels.scalar_type();
  return labels.is_cuda() && (type == torch::kFloat32 || type == torch::kBFloat16) && labels.dim() == 2 &&
         labels.size(0) == axis.n_coordinates && labels.size(1) % 8 == 0 && labels.numel() > 0 &&
         labels.numel() <= kMost && axis.max_labels <= kMaxColumnLabels && is_packed(labels);
#else
  return false;
#endif
}

torch::Tensor column_tokens(const ColumnAxis& axis, const ColumnsSeen& seen, const ColumnWeights& weights) {
  check_weights(axis, seen, weights);
  const int64_t B = seen.point.size(0);
  const int64_t d = weights.labels.size(1);
  check_seen(axis, seen, B, weights.labels);
  auto tokens = torch::empty({B, axis.n_columns, d}, weights.labels.options().requires_grad(false));
#ifdef SEGRE_CUDA
  if (B > 0)
    detail::column_tokens_cuda(sizes_of(axis, B, d), pointers_of(seen), pointers_of<const void*>(weights),
                               data_of(tokens), is_half(tokens), stream_of(tokens));
#endif
  return tokens;
}

ColumnWeights column_tokens_gradients(const ColumnAxis& axis, const ColumnsSeen& seen, const torch::Tensor& grad) {
  check_tokens(axis, grad);
  check_seen(axis, seen, grad.size(0), grad);
  const int64_t d = grad.size(2);
  const auto made = [&](bool wanted, int64_t rows) {
    return wanted ? torch::empty({rows, d}, grad.options().requires_grad(false)) : torch::Tensor();
  };
  ColumnWeights out{.labels = made(true, axis.n_coordinates),
                    .evidence = made(seen.evidence.defined(), axis.n_coordinates),
                    .strength = made(seen.strength.defined(), 1),
                    .position = made(seen.strength.defined(), axis.n_columns)};
#ifdef SEGRE_CUDA
  // The strength serves all columns: what each of them adds to its gradient.
  const auto partial = seen.strength.defined()
                           ? torch::empty({axis.n_columns, d}, seen.strength.options().requires_grad(false))
                           : torch::Tensor();
  detail::column_sums_cuda(sizes_of(axis, grad.size(0), d), pointers_of(seen), data_of(grad), pointers_of<void*>(out),
                           numbers_at(partial), nullptr, is_half(grad), stream_of(grad));
#endif
  return out;
}

torch::Tensor column_logits(const ColumnAxis& axis, const torch::Tensor& y, const torch::Tensor& labels,
                            const torch::Tensor& bias) {
  check_tokens(axis, y);
  require(columns_serve(axis, labels) && is_of(labels, {axis.n_coordinates, y.size(2)}, y),
          "label weights [S, d] of the tokens' type", labels);
  require(is_single(bias, {axis.n_coordinates}, y), "a bias [S] in float32", bias);
  auto logits = torch::empty({y.size(0), axis.n_coordinates}, bias.options().requires_grad(false));
#ifdef SEGRE_CUDA
  detail::column_logits_cuda(sizes_of(axis, y.size(0), y.size(2)), data_of(y), data_of(labels), numbers_at(bias),
                             numbers_at(logits), is_half(y), stream_of(y));
#endif
  return logits;
}

ColumnLogitsGradients column_logits_gradients(const ColumnAxis& axis, const torch::Tensor& grad, const torch::Tensor& y,
                                              const torch::Tensor& labels) {
  check_tokens(axis, y);
  const ColumnsSeen seen{.point = grad};
  check_seen(axis, seen, y.size(0), y);
  // A token's gradient is the sum of its labels, weighted by their gradients: a token again.
  ColumnLogitsGradients out{.y = column_tokens(axis, seen, {.labels = labels}),
                            .labels = torch::empty_like(labels),
                            .bias = torch::empty({axis.n_coordinates}, grad.options().requires_grad(false))};
#ifdef SEGRE_CUDA
  detail::column_sums_cuda(sizes_of(axis, y.size(0), y.size(2)), pointers_of(seen), data_of(y),
                           pointers_of<void*>({.labels = out.labels}), nullptr, numbers_at(out.bias), is_half(y),
                           stream_of(y));
#endif
  return out;
}

}  // namespace segre::kernels

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

bool fuses_column_tokens(const Space& space, const ColumnsSeen& seen, const ColumnWeights& weights) {
  for (const auto* input : {&seen.point, &seen.evidence, &seen.strength})
    if (!is_constant_single(*input)) return false;
  for (const auto* weight : {&weights.labels, &weights.evidence, &weights.strength, &weights.position})
    if (!weight->defined() || weight->scalar_type() != weights.labels.scalar_type() || !kernels::is_packed(*weight))
      return false;
  return space.max_labels() <= kernels::kMaxColumnLabels &&
         kernels::columns_serve(axis_of(space, seen.point.device()), weights.labels);
}

torch::Tensor fused_column_tokens(const Space& space, const ColumnsSeen& seen, const ColumnWeights& weights) {
  const ColumnsSeen packed_seen{
      .point = seen.point.contiguous(), .evidence = seen.evidence.contiguous(), .strength = seen.strength.contiguous()};
  return FusedTokens::apply(axis_of(space, seen.point.device()), packed_seen, weights.labels, weights.evidence,
                            weights.strength, weights.position);
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
