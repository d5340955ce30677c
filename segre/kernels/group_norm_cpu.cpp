#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "segre/core/parallel.h"
#include "segre/core/scalar_math.h"
#include "segre/core/simd.h"
#include "segre/kernels/group_norm_parts.h"

// Loops run over the channels of a pixel, which are contiguous, so they vectorise for any number of channels per group,
// and every instruction set gives the same bits.

namespace segre::kernels::detail {
namespace {

constexpr int64_t kChunk = 64;  // pixels summed in float32 before switching to double

// The sums of d = x - pivot and d^2 over pixels, eight pixels at a time so that the running sums are rarely loaded and
// stored.
SEGRE_MULTIVERSION
void sum_pixels(const float* __restrict x, int64_t pixels, int64_t C, const float* __restrict pivot,
                float* __restrict sum, float* __restrict squares) {
  for (int64_t c = 0; c < C; ++c) sum[c] = squares[c] = 0.0f;
  int64_t p = 0;
  for (; p + 8 <= pixels; p += 8, x += 8 * C)
    for (int64_t c = 0; c < C; ++c) {
      const float d0 = x[c] - pivot[c], d1 = x[C + c] - pivot[c];
      const float d2 = x[2 * C + c] - pivot[c], d3 = x[3 * C + c] - pivot[c];
      const float d4 = x[4 * C + c] - pivot[c], d5 = x[5 * C + c] - pivot[c];
      const float d6 = x[6 * C + c] - pivot[c], d7 = x[7 * C + c] - pivot[c];
      sum[c] += ((d0 + d1) + (d2 + d3)) + ((d4 + d5) + (d6 + d7));
      squares[c] += ((d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)) + ((d4 * d4 + d5 * d5) + (d6 * d6 + d7 * d7));
    }
  for (; p < pixels; ++p, x += C)
    for (int64_t c = 0; c < C; ++c) {
      const float d = x[c] - pivot[c];
      sum[c] += d;
      squares[c] += d * d;
    }
}

// 1 + e^-z to 3e-7 (1 + |z|), with z clamped to +-87. scalar_math::exp keeps its relative error further out but costs
// half as much again, and most of the time is spent here. Callers multiply by z, so NaN stays NaN.
[[gnu::always_inline]] inline float one_plus_exp_minus(float z) {
  constexpr float kRound = 12582912.0f;  // 1.5 2^23: adding it rounds to an integer in the low bits
  const float t = (z < -87.0f ? -87.0f : (z > 87.0f ? 87.0f : z)) * -1.44269504f;
  const float shifted = t + kRound;
  const float f = t - (shifted - kRound);  // in [-1/2, 1/2]
  // 2^f, interpolated at the Chebyshev nodes: relative error 2e-7.
  float p = 1.33908634e-3f;
  p = p * f + 9.67603192e-3f;
  p = p * f + 5.55035711e-2f;
  p = p * f + 2.40221075e-1f;
  p = p * f + 6.93147188e-1f;
  p = p * f + 1.0f;
  const auto power = static_cast<uint32_t>(scalar_math::bits_from_float(shifted)) << 23;
  const auto bits = static_cast<uint32_t>(scalar_math::bits_from_float(p)) + power;
  return 1.0f + scalar_math::float_from_bits(static_cast<int32_t>(bits));
}

SEGRE_MULTIVERSION
void apply(float* __restrict y, const float* __restrict x, int64_t rows, int64_t width, const float* __restrict center,
           const float* __restrict scale, const float* __restrict beta, bool silu) {
  for (int64_t r = 0; r < rows; ++r, x += width, y += width) {
    if (silu) {
      for (int64_t c = 0; c < width; ++c) {
        const float z = scale[c] * (x[c] - center[c]) + beta[c];
        y[c] = z / one_plus_exp_minus(z);
      }
    } else {
      for (int64_t c = 0; c < width; ++c) y[c] = scale[c] * (x[c] - center[c]) + beta[c];
    }
  }
}

// dz = dy act'(z), and the sums over rows of dz, dz u and u with u = x - center.
SEGRE_MULTIVERSION
void gradient_rows(float* __restrict dz, const float* __restrict dy, const float* __restrict x, int64_t rows,
                   int64_t width, const float* __restrict center, const float* __restrict scale,
                   const float* __restrict beta, bool silu, float* __restrict sum_dz, float* __restrict sum_dz_u,
                   float* __restrict sum_u) {
  for (int64_t r = 0; r < rows; ++r, x += width, dy += width, dz += width) {
    if (silu) {
      for (int64_t c = 0; c < width; ++c) {
        const float u = x[c] - center[c];
        const float z = scale[c] * u + beta[c];
        const float s = 1.0f / one_plus_exp_minus(z);
        const float g = dy[c] * (s * (1.0f + z * (1.0f - s)));
        dz[c] = g;
        sum_dz[c] += g;
        sum_dz_u[c] += g * u;
        sum_u[c] += u;
      }
    } else {
      for (int64_t c = 0; c < width; ++c) {
        const float u = x[c] - center[c];
        dz[c] = dy[c];
        sum_dz[c] += dy[c];
        sum_dz_u[c] += dy[c] * u;
        sum_u[c] += u;
      }
    }
  }
}

// In place: dx = scale dz + slope (x - center) + offset, where dx initially holds dz.
SEGRE_MULTIVERSION
void finish_rows(float* __restrict dx, const float* __restrict x, int64_t rows, int64_t width,
                 const float* __restrict center, const float* __restrict scale, const float* __restrict slope,
                 const float* __restrict offset) {
  for (int64_t r = 0; r < rows; ++r, x += width, dx += width)
    for (int64_t c = 0; c < width; ++c) dx[c] = scale[c] * dx[c] + (slope[c] * (x[c] - center[c]) + offset[c]);
}

// Rows of several pixels each: with few channels, a loop over one pixel is too short to pay for its overhead.
struct Rows {
  explicit Rows(const GroupNormShape& shape)
      : repeat(std::max<int64_t>(1, std::min(shape.pixels, kWide / shape.channels))),
        width(repeat * shape.channels),
        full(shape.pixels / repeat),
        rest(shape.pixels % repeat) {}
  static constexpr int64_t kWide = 256;
  int64_t repeat;  ///< pixels per row
  int64_t width;   ///< numbers per row
  int64_t full;    ///< whole rows
  int64_t rest;    ///< pixels left over
};

// Repeats the first C numbers over the rest of a row.
void tile(std::vector<float>& row, int64_t C) {
  for (size_t k = static_cast<size_t>(C); k < row.size(); ++k) row[k] = row[k - static_cast<size_t>(C)];
}

// z = scale (x - center) + beta, for one item.
struct Affine {
  Affine(const GroupNormShape& shape, const Rows& rows, const GroupNormWeights& weights, int64_t n, const float* mean,
         const float* rstd)
      : center(static_cast<size_t>(rows.width)), scale(center.size()), beta(center.size()) {
    const int64_t C = shape.channels;
    const int64_t per_group = C / shape.groups;
    for (int64_t c = 0; c < C; ++c) {
      const auto k = static_cast<size_t>(c);
      center[k] = mean[c / per_group] - (weights.shift == nullptr ? 0.0f : weights.shift[n * C + c]);
      scale[k] = weights.gamma[c] * rstd[c / per_group];
      beta[k] = weights.beta[c];
    }
    tile(center, C);
    tile(scale, C);
    tile(beta, C);
  }
  std::vector<float> center, scale, beta;
};

// Mean and sum of squared deviations per channel of one item [P, C]. Each chunk is summed about its own first pixel,
// which removes the common offset before it can cost digits; chunks are merged in double (Chan, Golub and LeVeque
// 1979).
struct Moments {
  Moments(const float* x, int64_t P, int64_t C) : mean(static_cast<size_t>(C), 0.0), squares(mean.size(), 0.0) {
    std::vector<float> sum(mean.size()), sum_squares(mean.size());
    for (int64_t from = 0; from < P; from += kChunk) {
      const int64_t count = std::min(kChunk, P - from);
      const float* pivot = x + from * C;
      sum_pixels(pivot, count, C, pivot, sum.data(), sum_squares.data());
      const double inverse = 1.0 / static_cast<double>(count);
      const double weight = static_cast<double>(count) / static_cast<double>(from + count);
      for (size_t c = 0; c < mean.size(); ++c) {
        const double off = sum[c] * inverse;
        const double delta = pivot[c] + off - mean[c];
        mean[c] += delta * weight;
        squares[c] += std::max(0.0, sum_squares[c] - sum[c] * off) + delta * delta * weight * static_cast<double>(from);
      }
    }
  }
  std::vector<double> mean, squares;
};

void forward_item(const GroupNormShape& shape, const float* x, const GroupNormWeights& weights, int64_t n, double eps,
                  float* y, float* mean, float* rstd) {
  const int64_t C = shape.channels;
  const int64_t per_group = C / shape.groups;
  const auto P = static_cast<double>(shape.pixels);
  Moments moments(x, shape.pixels, C);
  if (weights.shift != nullptr)
    for (int64_t c = 0; c < C; ++c) moments.mean[static_cast<size_t>(c)] += weights.shift[n * C + c];
  for (int64_t g = 0; g < shape.groups; ++g) {
    double sum = 0.0;
    double squares = 0.0;
    const auto first = static_cast<size_t>(g * per_group);
    const auto last = first + static_cast<size_t>(per_group);
    for (size_t c = first; c < last; ++c) sum += moments.mean[c];
    const double center = sum / static_cast<double>(per_group);
    for (size_t c = first; c < last; ++c) {
      const double off = moments.mean[c] - center;
      squares += moments.squares[c] + P * off * off;
    }
    mean[g] = static_cast<float>(center);
    rstd[g] = static_cast<float>(1.0 / std::sqrt(squares / (P * static_cast<double>(per_group)) + eps));
  }
  const Rows rows(shape);
  const Affine affine(shape, rows, weights, n, mean, rstd);
  const auto run = [&](int64_t from, int64_t count, int64_t width) {
    apply(y + from, x + from, count, width, affine.center.data(), affine.scale.data(), affine.beta.data(), shape.silu);
  };
  run(0, rows.full, rows.width);
  run(rows.full * rows.width, rows.rest, C);
}

// Sums over pixels per channel, accumulated in double from chunks of multi-pixel rows.
struct Sums {
  Sums(int64_t C, const Rows& rows) : total(static_cast<size_t>(C), 0.0), row(static_cast<size_t>(rows.width), 0.0f) {}
  void fold() {
    for (size_t k = 0; k < row.size(); ++k) total[k % total.size()] += row[k];
    std::fill(row.begin(), row.end(), 0.0f);
  }
  std::vector<double> total;
  std::vector<float> row;
};

void backward_item(const GroupNormShape& shape, const float* dy, const float* x, const GroupNormWeights& weights,
                   int64_t n, const float* mean, const float* rstd, float* dx, const GroupNormSums& out) {
  const int64_t C = shape.channels;
  const int64_t per_group = C / shape.groups;
  const Rows rows(shape);
  const Affine affine(shape, rows, weights, n, mean, rstd);
  Sums dz(C, rows), dz_u(C, rows), u(C, rows);
  const auto gradient = [&](int64_t from, int64_t count, int64_t width) {
    gradient_rows(dx + from, dy + from, x + from, count, width, affine.center.data(), affine.scale.data(),
                  affine.beta.data(), shape.silu, dz.row.data(), dz_u.row.data(), u.row.data());
    for (Sums* sums : {&dz, &dz_u, &u}) sums->fold();
  };
  for (int64_t r = 0; r < rows.full; r += kChunk) gradient(r * rows.width, std::min(kChunk, rows.full - r), rows.width);
  gradient(rows.full * rows.width, rows.rest, C);

  std::vector<float> slope(affine.center.size()), offset(slope.size());
  const auto P = static_cast<double>(shape.pixels);
  for (int64_t g = 0; g < shape.groups; ++g) {
    const double r = rstd[g];
    double mean_dz = 0.0;       // of gamma dz over the group
    double mean_dz_xhat = 0.0;  // of gamma dz xhat
    for (int64_t c = g * per_group; c < (g + 1) * per_group; ++c) {
      const auto k = static_cast<size_t>(c);
      dz_u.total[k] *= r;  // now sums with xhat = r u
      u.total[k] *= r;
      mean_dz += weights.gamma[c] * dz.total[k] / (P * static_cast<double>(per_group));
      mean_dz_xhat += weights.gamma[c] * dz_u.total[k] / (P * static_cast<double>(per_group));
    }
    for (int64_t c = g * per_group; c < (g + 1) * per_group; ++c) {
      const auto k = static_cast<size_t>(c);
      slope[k] = static_cast<float>(-r * r * mean_dz_xhat);
      offset[k] = static_cast<float>(-r * mean_dz);
      out.dz[n * C + c] = static_cast<float>(dz.total[k]);
      out.dz_xhat[n * C + c] = static_cast<float>(dz_u.total[k]);
      if (out.dshift != nullptr)  // the sum of dx over pixels, without another pass
        out.dshift[n * C + c] =
            static_cast<float>(r * (weights.gamma[c] * dz.total[k] - P * mean_dz - mean_dz_xhat * u.total[k]));
    }
  }
  tile(slope, C);
  tile(offset, C);
  const auto finish = [&](int64_t from, int64_t count, int64_t width) {
    finish_rows(dx + from, x + from, count, width, affine.center.data(), affine.scale.data(), slope.data(),
                offset.data());
  };
  finish(0, rows.full, rows.width);
  finish(rows.full * rows.width, rows.rest, C);
}

}  // namespace

void group_norm_forward_cpu(const GroupNormShape& shape, const float* x, const GroupNormWeights& weights, double eps,
                            float* y, float* mean, float* rstd) {
  const int64_t size = shape.pixels * shape.channels;
  parallel_for(0, shape.items, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n)
      forward_item(shape, x + n * size, weights, n, eps, y + n * size, mean + n * shape.groups,
                   rstd + n * shape.groups);
  });
}

void group_norm_backward_cpu(const GroupNormShape& shape, const float* dy, const float* x,
                             const GroupNormWeights& weights, const float* mean, const float* rstd, float* dx,
                             const GroupNormSums& sums) {
  const int64_t size = shape.pixels * shape.channels;
  parallel_for(0, shape.items, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n)
      backward_item(shape, dy + n * size, x + n * size, weights, n, mean + n * shape.groups, rstd + n * shape.groups,
                    dx + n * size, sums);
  });
}

}  // namespace segre::kernels::detail
