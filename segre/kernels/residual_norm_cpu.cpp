#include "segre/kernels/residual_norm_cpu.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "segre/core/parallel.h"
#include "segre/core/scalar_math.h"
#include "segre/core/simd.h"

namespace segre::kernels {
namespace {

constexpr int64_t kRows = 64;  // per task, and per partial sum of the gain's gradient

// to = x + factor h, where the factor is 0 for dropped numbers.
SEGRE_MULTIVERSION
void add_row(float* __restrict to, const float* __restrict x, const float* __restrict h, const float* __restrict factor,
             int64_t C) {
  for (int64_t c = 0; c < C; ++c) to[c] = x[c] + factor[c] * h[c];
}

SEGRE_MULTIVERSION
float sum_of_squares(const float* __restrict x, int64_t C) {
  float lanes[16] = {};
  int64_t c = 0;
  for (; c + 16 <= C; c += 16)
    for (int64_t k = 0; k < 16; ++k) lanes[k] += x[c + k] * x[c + k];
  float rest = 0.0f;
  for (; c < C; ++c) rest += x[c] * x[c];
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

// A bfloat16 is the upper half of a float32.
SEGRE_MULTIVERSION
void widen(float* __restrict to, const uint16_t* __restrict from, int64_t count) {
  for (int64_t c = 0; c < count; ++c) to[c] = std::bit_cast<float>(static_cast<uint32_t>(from[c]) << 16);
}

// Rounds to the nearest, ties to even; not a number stays so.
SEGRE_MULTIVERSION
void narrow(uint16_t* __restrict to, const float* __restrict from, int64_t count) {
  for (int64_t c = 0; c < count; ++c) {
    const auto bits = std::bit_cast<uint32_t>(from[c]);
    const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    to[c] = static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded);
  }
}

// One row at a time of a tensor [M, C], as float32: the tensor's own memory, or a copy of a bfloat16 row. A null tensor
// has rows of zeros, which may be written and are forgotten.
class Rows {
 public:
  explicit Rows(const torch::Tensor& x, int64_t C) : C_(C), copy_(x.defined() && is_single(x) ? 0 : C, 0.0f) {
    if (!x.defined()) return;
    if (is_single(x)) {
      single_ = x.data_ptr<float>();
    } else {
      half_ = static_cast<uint16_t*>(x.data_ptr());
    }
  }
  // Row r, to be read.
  const float* read(int64_t r) {
    if (single_ != nullptr) return single_ + r * C_;
    if (half_ != nullptr) widen(copy_.data(), half_ + r * C_, C_);
    return copy_.data();
  }
  // Room for row r; call wrote(r) when it is filled.
  float* write(int64_t r) { return single_ != nullptr ? single_ + r * C_ : copy_.data(); }
  void wrote(int64_t r) {
    if (half_ != nullptr) narrow(half_ + r * C_, copy_.data(), C_);
  }

 private:
  static bool is_single(const torch::Tensor& x) { return x.scalar_type() == torch::kFloat32; }
  int64_t C_;
  std::vector<float> copy_;
  float* single_ = nullptr;
  uint16_t* half_ = nullptr;
};

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

}  // namespace

void residual_norm_cpu(const torch::Tensor& x, const torch::Tensor& h, const torch::Tensor& gain,
                       const Dropout& dropout, const ResidualNorm& out) {
  const int64_t C = x.size(1);
  parallel_for(0, x.size(0), kRows, [&](int64_t begin, int64_t end) {
    Factors factors(dropout, C);
    Rows x_rows(x, C), h_rows(h, C), sum_rows(out.sum, C), y_rows(out.y, C);
    for (int64_t r = begin; r < end; ++r) {
      if (h.defined()) {  // without h the sum is x itself
        add_row(sum_rows.write(r), x_rows.read(r), h_rows.read(r), factors.of(r), C);
        sum_rows.wrote(r);
      }
      const float* sum = sum_rows.read(r);  // as the backward pass will find it
      const float scale =
          1.0f / std::sqrt(sum_of_squares(sum, C) / static_cast<float>(C) + static_cast<float>(kNormEpsilon));
      out.scale.data_ptr<float>()[r] = scale;
      scale_row(y_rows.write(r), sum, gain.data_ptr<float>(), scale, C);
      y_rows.wrote(r);
    }
  });
}

ResidualNormGradients residual_norm_gradients_cpu(const torch::Tensor& grad_sum, const torch::Tensor& grad_y,
                                                  const ResidualNorm& forward, const torch::Tensor& gain, bool has_h,
                                                  const Dropout& dropout) {
  const int64_t M = grad_y.size(0);
  const int64_t C = grad_y.size(1);
  const int64_t n_parts = (M + kRows - 1) / kRows;
  ResidualNormGradients out{torch::empty_like(grad_y), has_h ? torch::empty_like(grad_y) : torch::Tensor(), {}};
  const auto partial = torch::zeros({n_parts, C}, gain.options().requires_grad(false));
  parallel_for(0, n_parts, 1, [&](int64_t begin, int64_t end) {
    Factors factors(dropout, C);
    Rows sums(forward.sum, C), of_sum(grad_sum, C), of_y(grad_y, C), of_x(out.x, C), of_h(out.h, C);
    for (int64_t r = begin * kRows; r < std::min(M, end * kRows); ++r) {
      const float scale = forward.scale.data_ptr<float>()[r];
      const float* dy = of_y.read(r);
      const float* sum = sums.read(r);
      const float* g = gain.data_ptr<float>();
      const float along = sum_of_products(dy, sum, g, C) * scale / static_cast<float>(C);
      row_gradients(of_x.write(r), of_h.write(r), partial.data_ptr<float>() + r / kRows * C, of_sum.read(r), dy, sum, g,
                    factors.of(r), scale, along, C);
      of_x.wrote(r);
      of_h.wrote(r);
    }
  });
  out.gain = partial.sum(0);
  return out;
}

void gated_cpu(const torch::Tensor& u, const torch::Tensor& out) {
  const int64_t F = out.size(1);
  parallel_for(0, u.size(0), kRows, [&](int64_t begin, int64_t end) {
    Rows from(u, 2 * F), to(out, F);
    for (int64_t r = begin; r < end; ++r) {
      gated_row(to.write(r), from.read(r), F);
      to.wrote(r);
    }
  });
}

void gated_gradient_cpu(const torch::Tensor& grad, const torch::Tensor& u, const torch::Tensor& out) {
  const int64_t F = grad.size(1);
  parallel_for(0, u.size(0), kRows, [&](int64_t begin, int64_t end) {
    Rows of_out(grad, F), from(u, 2 * F), to(out, 2 * F);
    for (int64_t r = begin; r < end; ++r) {
      gated_gradient_row(to.write(r), of_out.read(r), from.read(r), F);
      to.wrote(r);
    }
  });
}

}  // namespace segre::kernels
