#include "segre/kernels/residual_norm.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "segre/core/error.h"
#include "segre/core/parallel.h"
#include "segre/core/scalar_math.h"
#include "segre/core/simd.h"
#include "segre/kernels/residual_norm_parts.h"

#ifdef SEGRE_CUDA
#include <c10/cuda/CUDAStream.h>
#endif

namespace segre::kernels {
namespace {

constexpr int64_t kRows = 64;  // per task, and per partial sum of the gain's gradient

// to = x + factor h, where the factor is 0 for dropped numbers; then the sum of squares.
SEGRE_MULTIVERSION
float add_and_square(float* __restrict to, const float* __restrict x, const float* __restrict h,
                     const float* __restrict factor, int64_t C) {
  float lanes[16] = {};
  int64_t c = 0;
  for (; c + 16 <= C; c += 16)
    for (int64_t k = 0; k < 16; ++k) {
      const float value = x[c + k] + factor[c + k] * h[c + k];
      to[c + k] = value;
      lanes[k] += value * value;
    }
  float rest = 0.0f;
  for (; c < C; ++c) {
    const float value = x[c] + factor[c] * h[c];
    to[c] = value;
    rest += value * value;
  }
  for (const float lane : lanes) rest += lane;
  return rest;
}

SEGRE_MULTIVERSION
float sum_of_products(const float* __restrict a, const float* __restrict b, const float* __restrict w, int64_t C) {
  float lanes[16] = {};
  int64_t c = 0;
  for (; c + 16 <= C; c += 16)
    for (int64_t k = 0; k < 16; ++k) lanes[k] += a[c + k] * b[c + k] * w[c + k];
  float rest = 0.0f;
  for (; c < C; ++c) rest += a[c] * b[c] * w[c];
  for (const float lane : lanes) rest += lane;
  return rest;
}

SEGRE_MULTIVERSION
void scale_row(float* __restrict y, const float* __restrict sum, const float* __restrict gain, float scale, int64_t C) {
  for (int64_t c = 0; c < C; ++c) y[c] = sum[c] * scale * gain[c];
}

// One row of the backward pass: the gradients of x and h, and grad_y x-hat added to that of the gain.
SEGRE_MULTIVERSION
void row_gradients(float* __restrict grad_x, float* __restrict grad_h, float* __restrict grad_gain,
                   const float* __restrict grad_sum, const float* __restrict grad_y, const float* __restrict sum,
                   const float* __restrict gain, const float* __restrict factor, float scale, float along, int64_t C) {
  for (int64_t c = 0; c < C; ++c) {
    const float normal = sum[c] * scale;
    grad_gain[c] += grad_y[c] * normal;
    const float value = grad_sum[c] + scale * (grad_y[c] * gain[c] - normal * along);
    grad_x[c] = value;
    grad_h[c] = value * factor[c];
  }
}

SEGRE_MULTIVERSION
void gated_row(float* __restrict out, const float* __restrict u, int64_t F) {
  for (int64_t c = 0; c < F; ++c) out[c] = u[c] / (1.0f + scalar_math::exp(-u[c])) * u[F + c];
}

SEGRE_MULTIVERSION
void gated_gradient_row(float* __restrict to, const float* __restrict grad, const float* __restrict u, int64_t F) {
  for (int64_t c = 0; c < F; ++c) {
    const float sigmoid = 1.0f / (1.0f + scalar_math::exp(-u[c]));
    const float silu = u[c] * sigmoid;
    to[c] = grad[c] * u[F + c] * (sigmoid + silu * (1.0f - sigmoid));
    to[F + c] = grad[c] * silu;
  }
}

// The factors of dropout for consecutive rows.
class Factors {
 public:
  Factors(const Dropout& dropout, int64_t C)
      : dropout_(dropout), first_(dropout.share > 0.0 ? dropout.first_row.item<int64_t>() : 0), row_(C, 1.0f) {}
  const float* of(int64_t row) {
    if (dropout_.share == 0.0) return row_.data();
    const auto C = static_cast<int64_t>(row_.size());
    segre::detail::fill_cpu(row_.data(), C, segre::detail::Draw::uniform, dropout_.random,
                            static_cast<uint64_t>((first_ + row) * C));
    const auto share = static_cast<float>(dropout_.share);
    const float kept = 1.0f / (1.0f - share);
    for (float& number : row_) number = number < share ? 0.0f : kept;
    return row_.data();
  }

 private:
  const Dropout& dropout_;
  int64_t first_;
  std::vector<float> row_;
};

bool has_kernels(const torch::Tensor& x) {
  if (x.dim() != 2 || x.numel() == 0) return false;
  if (x.is_cpu()) return x.scalar_type() == torch::kFloat32;
#ifdef SEGRE_CUDA
  return x.is_cuda() && (x.scalar_type() == torch::kFloat32 || x.scalar_type() == torch::kBFloat16);
#else
  return false;
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

void residual_norm_cpu(const torch::Tensor& x, const torch::Tensor& h, const torch::Tensor& gain,
                       const Dropout& dropout, const ResidualNorm& out) {
  const int64_t C = x.size(1);
  const std::vector<float> zeros(h.defined() ? 0 : C, 0.0f);
  const auto* x_at = x.data_ptr<float>();
  const auto* h_at = h.defined() ? h.data_ptr<float>() : nullptr;
  auto* sum_at = out.sum.data_ptr<float>();
  parallel_for(0, x.size(0), kRows, [&](int64_t begin, int64_t end) {
    Factors factors(dropout, C);
    std::vector<float> copy(h_at == nullptr ? C : 0);
    for (int64_t r = begin; r < end; ++r) {
      const int64_t at = r * C;
      float* to = h_at == nullptr ? copy.data() : sum_at + at;  // without h the sum is x itself
      const float squares = add_and_square(to, x_at + at, h_at == nullptr ? zeros.data() : h_at + at, factors.of(r), C);
      const float scale = 1.0f / std::sqrt(squares / static_cast<float>(C) + static_cast<float>(kNormEpsilon));
      out.scale.data_ptr<float>()[r] = scale;
      scale_row(out.y.data_ptr<float>() + at, to, gain.data_ptr<float>(), scale, C);
    }
  });
}

ResidualNormGradients gradients_cpu(const torch::Tensor& grad_sum, const torch::Tensor& grad_y,
                                    const ResidualNorm& forward, const torch::Tensor& gain, bool has_h,
                                    const Dropout& dropout) {
  const int64_t M = grad_y.size(0);
  const int64_t C = grad_y.size(1);
  const int64_t n_parts = (M + kRows - 1) / kRows;
  ResidualNormGradients out{torch::empty_like(grad_y), has_h ? torch::empty_like(grad_y) : torch::Tensor(), {}};
  const auto partial = torch::zeros({n_parts, C}, gain.options().requires_grad(false));
  const std::vector<float> zeros(grad_sum.defined() ? 0 : C, 0.0f);
  parallel_for(0, n_parts, 1, [&](int64_t begin, int64_t end) {
    Factors factors(dropout, C);
    std::vector<float> ignored(has_h ? 0 : C);
    for (int64_t r = begin * kRows; r < std::min(M, end * kRows); ++r) {
      const int64_t at = r * C;
      const float scale = forward.scale.data_ptr<float>()[r];
      const float* dy = grad_y.data_ptr<float>() + at;
      const float* sum = forward.sum.data_ptr<float>() + at;
      const float* g = gain.data_ptr<float>();
      const float along = sum_of_products(dy, sum, g, C) * scale / static_cast<float>(C);
      row_gradients(out.x.data_ptr<float>() + at, has_h ? out.h.data_ptr<float>() + at : ignored.data(),
                    partial.data_ptr<float>() + r / kRows * C,
                    grad_sum.defined() ? grad_sum.data_ptr<float>() + at : zeros.data(), dy, sum, g, factors.of(r),
                    scale, along, C);
    }
  });
  out.gain = partial.sum(0);
  return out;
}

#ifdef SEGRE_CUDA
void* stream_of(const torch::Tensor& x) { return c10::cuda::getCurrentCUDAStream(x.device().index()).stream(); }

detail::DropoutRows rows_of(const Dropout& dropout) {
  return {static_cast<float>(dropout.share), dropout.random.seed, dropout.random.stream,
          dropout.share > 0.0 ? dropout.first_row.data_ptr<int64_t>() : nullptr};
}

void* at(const torch::Tensor& x) { return x.defined() ? x.data_ptr() : nullptr; }

bool is_half(const torch::Tensor& x) { return x.scalar_type() == torch::kBFloat16; }
#endif

}  // namespace

bool rows_serve(const torch::Tensor& x) {
  return has_kernels(x) && (x.is_cpu() || (x.size(1) <= detail::kMaxRowChannels && x.size(1) % 4 == 0));
}

bool gate_serves(const torch::Tensor& u) { return has_kernels(u) && (u.is_cpu() || u.size(1) % 8 == 0); }

ResidualNorm residual_norm(const torch::Tensor& x, const torch::Tensor& h, const torch::Tensor& gain,
                           const Dropout& dropout) {
  check_rows(x, h, gain);
  ResidualNorm out{h.defined() ? torch::empty_like(x) : x, torch::empty_like(x),
                   torch::empty({x.size(0)}, x.options().dtype(torch::kFloat32))};
  if (x.device().is_cpu()) {
    residual_norm_cpu(x, h, gain, dropout, out);
    return out;
  }
#ifdef SEGRE_CUDA
  detail::residual_norm_cuda(at(x), at(h), gain.data_ptr<float>(), at(out.sum), at(out.y), out.scale.data_ptr<float>(),
                             x.size(0), x.size(1), rows_of(dropout), is_half(x), stream_of(x));
#endif
  return out;
}

ResidualNormGradients residual_norm_gradients(const torch::Tensor& grad_sum, const torch::Tensor& grad_y,
                                              const ResidualNorm& forward, const torch::Tensor& gain, bool has_h,
                                              const Dropout& dropout) {
  if (grad_y.device().is_cpu()) return gradients_cpu(grad_sum, grad_y, forward, gain, has_h, dropout);
  ResidualNormGradients out{torch::empty_like(grad_y), has_h ? torch::empty_like(grad_y) : torch::Tensor(),
                            torch::empty_like(gain)};
#ifdef SEGRE_CUDA
  const auto partial =
      torch::empty({detail::residual_norm_blocks(grad_y.size(0)), grad_y.size(1)}, gain.options().requires_grad(false));
  detail::residual_norm_gradients_cuda(at(grad_sum), at(grad_y), at(forward.sum), forward.scale.data_ptr<float>(),
                                       gain.data_ptr<float>(), at(out.x), at(out.h), partial.data_ptr<float>(),
                                       out.gain.data_ptr<float>(), grad_y.size(0), grad_y.size(1), rows_of(dropout),
                                       is_half(grad_y), stream_of(grad_y));
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
    parallel_for(0, u.size(0), kRows, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        gated_row(out.data_ptr<float>() + r * F, u.data_ptr<float>() + 2 * r * F, F);
    });
    return out;
  }
#ifdef SEGRE_CUDA
  detail::gated_cuda(at(u), at(out), u.size(0), F, is_half(u), stream_of(u));
#endif
  return out;
}

torch::Tensor gated_gradient(const torch::Tensor& grad, const torch::Tensor& u) {
  const int64_t F = u.size(1) / 2;
  auto out = torch::empty_like(u);
  if (u.device().is_cpu()) {
    parallel_for(0, u.size(0), kRows, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        gated_gradient_row(out.data_ptr<float>() + 2 * r * F, grad.data_ptr<float>() + r * F,
                           u.data_ptr<float>() + 2 * r * F, F);
    });
    return out;
  }
#ifdef SEGRE_CUDA
  detail::gated_gradient_cuda(at(grad), at(u), at(out), u.size(0), F, is_half(u), stream_of(u));
#endif
  return out;
}

torch::Tensor gated_plain(const torch::Tensor& u) {
  const auto parts = u.chunk(2, -1);
  return torch::silu(parts[0]) * parts[1];
}

}  // namespace segre::kernels
