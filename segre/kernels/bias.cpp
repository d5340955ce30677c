#include "segre/kernels/bias.h"

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <optional>

#include "segre/core/error.h"
#include "segre/core/parallel.h"
#include "segre/core/simd.h"
#include "segre/kernels/bias_parts.h"
#include "segre/kernels/launch_parts.h"

namespace segre::kernels {
namespace {

constexpr int64_t kRows = 128;  // rows per task and per block of the sum

SEGRE_MULTIVERSION
void add_rows(float* __restrict out, const float* __restrict h, const float* __restrict bias, int64_t rows, int64_t C) {
  for (int64_t r = 0; r < rows; ++r, h += C, out += C)
    for (int64_t c = 0; c < C; ++c) out[c] = h[c] + bias[c];
}

SEGRE_MULTIVERSION
void add_rows_and_skip(float* __restrict out, const float* __restrict h, const float* __restrict skip,
                       const float* __restrict bias, int64_t rows, int64_t C) {
  for (int64_t r = 0; r < rows; ++r, h += C, skip += C, out += C)
    for (int64_t c = 0; c < C; ++c) out[c] = (h[c] + skip[c]) + bias[c];
}

// Sums the rows, eight at a time so that the running sums are rarely loaded and stored.
SEGRE_MULTIVERSION
void sum_rows(float* __restrict sum, const float* __restrict x, int64_t rows, int64_t C) {
  for (int64_t c = 0; c < C; ++c) sum[c] = 0.0f;
  int64_t r = 0;
  for (; r + 8 <= rows; r += 8, x += 8 * C)
    for (int64_t c = 0; c < C; ++c)
      sum[c] += ((x[c] + x[C + c]) + (x[2 * C + c] + x[3 * C + c])) +
                ((x[4 * C + c] + x[5 * C + c]) + (x[6 * C + c] + x[7 * C + c]));
  for (; r < rows; ++r, x += C)
    for (int64_t c = 0; c < C; ++c) sum[c] += x[c];
}

void require(bool fits, const char* what, const torch::Tensor& found) {
  if (!fits) fail("bias: expected ", what, ", found ", found.sizes(), " of ", found.dtype());
}

torch::Tensor column_sum_cpu(const torch::Tensor& x) {
  const int64_t M = x.size(0);
  const int64_t C = x.size(1);
  const int64_t n_blocks = (M + kRows - 1) / kRows;
  const auto partial = torch::empty({n_blocks, C}, x.options());
  const auto* from = x.data_ptr<float>();
  auto* to = partial.data_ptr<float>();
  parallel_for(0, n_blocks, 8, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) sum_rows(to + k * C, from + k * kRows * C, std::min(kRows, M - k * kRows), C);
  });
  auto sum = torch::empty({C}, x.options());
  sum_rows(sum.data_ptr<float>(), to, n_blocks, C);
  return sum;
}

void add_bias_cpu(const torch::Tensor& h, const torch::Tensor& skip, const torch::Tensor& bias,
                  const torch::Tensor& out) {
  const int64_t C = h.size(1);
  const auto* h_at = h.data_ptr<float>();
  const auto* skip_at = skip.defined() ? skip.data_ptr<float>() : nullptr;
  const auto* bias_at = bias.data_ptr<float>();
  auto* out_at = out.data_ptr<float>();
  parallel_for(0, h.size(0), kRows, [&](int64_t begin, int64_t end) {
    const int64_t at = begin * C;
    if (skip_at == nullptr) {
      add_rows(out_at + at, h_at + at, bias_at, end - begin, C);
    } else {
      add_rows_and_skip(out_at + at, h_at + at, skip_at + at, bias_at, end - begin, C);
    }
  });
}

}  // namespace

bool bias_serves(const torch::Tensor& x) {
  if (x.dim() != 2 || x.numel() == 0) return false;
  if (x.device().is_cpu()) return x.scalar_type() == torch::kFloat32;
#ifdef SEGRE_CUDA
  return x.is_cuda() && (x.scalar_type() == torch::kFloat32 || x.scalar_type() == torch::kBFloat16) &&
         x.size(1) <= detail::kBiasMaxChannels;
#else
  return false;
#endif
}

torch::Tensor add_bias(const torch::Tensor& h, const torch::Tensor& skip, const torch::Tensor& bias) {
  require(bias_serves(h) && h.is_contiguous(), "contiguous rows [M, C] of a supported type", h);
  require(bias.scalar_type() == torch::kFloat32 && bias.dim() == 1 && bias.size(0) == h.size(1) &&
              bias.is_contiguous() && bias.device() == h.device(),
          "a bias [C] in float32", bias);
  if (skip.defined())
    require(skip.sizes() == h.sizes() && skip.scalar_type() == h.scalar_type() && skip.is_contiguous() &&
                skip.device() == h.device(),
            "a contiguous skip of h's shape and type", skip);
  auto out = torch::empty_like(h);
  if (h.device().is_cpu()) {
    add_bias_cpu(h, skip, bias, out);
    return out;
  }
#ifdef SEGRE_CUDA
  detail::add_bias_cuda(h.data_ptr(), skip.defined() ? skip.data_ptr() : nullptr, bias.data_ptr<float>(),
                        out.data_ptr(), h.size(0), h.size(1), h.scalar_type() == torch::kBFloat16, stream_of(h));
#endif
  return out;
}

torch::Tensor column_sum(const torch::Tensor& x) {
  require(bias_serves(x) && x.is_contiguous(), "contiguous rows [M, C] of a supported type", x);
  if (x.device().is_cpu()) return column_sum_cpu(x);
  const auto options = x.options().dtype(torch::kFloat32);
  auto sum = torch::empty({x.size(1)}, options);
#ifdef SEGRE_CUDA
  const auto partial = torch::empty({detail::column_sum_blocks(x.size(0), x.size(1)), x.size(1)}, options);
  detail::column_sum_cuda(x.data_ptr(), partial.data_ptr<float>(), sum.data_ptr<float>(), x.size(0), x.size(1),
                          x.scalar_type() == torch::kBFloat16, stream_of(x));
#endif
  return sum;
}

torch::Tensor add_bias_plain(const torch::Tensor& h, const torch::Tensor& skip, const torch::Tensor& bias) {
  const auto sum = skip.defined() ? h + skip + bias : h + bias;
  return sum.to(h.scalar_type());
}

}  // namespace segre::kernels

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
