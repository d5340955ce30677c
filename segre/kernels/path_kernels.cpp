#include "segre/kernels/path_kernels.h"

#include <algorithm>
#include <array>

#include "segre/core/error.h"
#include "segre/core/parallel.h"
#include "segre/core/scalar_math.h"
#include "segre/core/simd.h"

namespace segre::kernels {
namespace {

constexpr int64_t kLanes = 16;
using Accumulator = std::array<float, kLanes>;

// Sums and maxima run in kLanes separate accumulators that are combined in a fixed order: the compiler vectorises
// them without reordering anything, so every instruction set gives the same bits.
[[gnu::always_inline]] inline float combine_sum(const Accumulator& part) {
  float total = 0.0f;
  for (const float x : part) total += x;
  return total;
}

[[gnu::always_inline]] inline float sum(const float* x, int64_t count) {
  Accumulator part{};
  int64_t j = 0;
  for (; j + kLanes <= count; j += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) part[lane] += x[j + lane];
  float total = combine_sum(part);
  for (; j < count; ++j) total += x[j];
  return total;
}

[[gnu::always_inline]] inline float sum_of_squares(const float* x, int64_t count) {
  Accumulator part{};
  int64_t j = 0;
  for (; j + kLanes <= count; j += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) part[lane] += x[j + lane] * x[j + lane];
  float total = combine_sum(part);
  for (; j < count; ++j) total += x[j] * x[j];
  return total;
}

// Comparisons only, so lanes and order do not matter.
[[gnu::always_inline]] inline float max(const float* x, int64_t count) {
  float largest = x[0];
  int64_t j = 0;
  if (count >= kLanes) {
    Accumulator part;
    for (int64_t lane = 0; lane < kLanes; ++lane) part[lane] = x[lane];
    for (j = kLanes; j + kLanes <= count; j += kLanes)
      for (int64_t lane = 0; lane < kLanes; ++lane) part[lane] = x[j + lane] > part[lane] ? x[j + lane] : part[lane];
    for (const float y : part) largest = y > largest ? y : largest;
  }
  for (; j < count; ++j) largest = x[j] > largest ? x[j] : largest;
  return largest;
}

// out = exp(out - max); returns the sum.
[[gnu::always_inline]] inline float exp_shifted_(float* out, int64_t count) {
  const float largest = max(out, count);
  for (int64_t j = 0; j < count; ++j) out[j] = scalar_math::exp(out[j] - largest);
  return sum(out, count);
}

SEGRE_MULTIVERSION
void path_row(float* row, const int64_t* offsets, int64_t n, const int64_t* labels, float a, float s,
              const float* kappa) {
  for (int64_t i = 0; i < n; ++i) {
    float* x = row + offsets[i];
    const int64_t c = offsets[i + 1] - offsets[i];
    const float reach = a * kappa[i];
    const float shift = s * (sum(x, c) / static_cast<float>(c)) + reach / static_cast<float>(c);
    for (int64_t j = 0; j < c; ++j) x[j] = s * x[j] - shift;
    x[labels[i]] += reach;
  }
}

SEGRE_MULTIVERSION
void softmax_row(float* out, const float* v, const int64_t* offsets, int64_t n, float scale, const float* kappa) {
  for (int64_t i = 0; i < n; ++i) {
    float* y = out + offsets[i];
    const float* x = v + offsets[i];
    const int64_t c = offsets[i + 1] - offsets[i];
    const float factor = scale * kappa[i];
    for (int64_t j = 0; j < c; ++j) y[j] = factor * x[j];
    const float inverse = 1.0f / exp_shifted_(y, c);
    for (int64_t j = 0; j < c; ++j) y[j] *= inverse;
  }
}

struct RowLoss {
  float loss;
  float error;
};

SEGRE_MULTIVERSION
RowLoss cross_entropy_row(float* gradient, const float* message, const float* v, const int64_t* offsets, int64_t n,
                          float scale, const float* kappa, const int64_t* labels, float weight) {
  RowLoss out{0.0f, 0.0f};
  for (int64_t i = 0; i < n; ++i) {
    float* y = gradient + offsets[i];
    const float* m = message + offsets[i];
    const float* x = v + offsets[i];
    const int64_t c = offsets[i + 1] - offsets[i];
    const float factor = scale * kappa[i];
    for (int64_t j = 0; j < c; ++j) y[j] = m[j] + factor * x[j];
    const float logit = y[labels[i]] - max(y, c);
    const float total = exp_shifted_(y, c);
    out.loss += scalar_math::log(total) - logit;
    const float inverse = 1.0f / total;
    for (int64_t j = 0; j < c; ++j) y[j] *= inverse;
    y[labels[i]] -= 1.0f;
    out.error += kappa[i] * kappa[i] * sum_of_squares(y, c);
    for (int64_t j = 0; j < c; ++j) y[j] *= weight;
  }
  return out;
}

SEGRE_MULTIVERSION
void velocity_row(float* out, const float* message, const float* v, const int64_t* offsets, int64_t n, float scale,
                  float alpha, float pull, const float* kappa) {
  for (int64_t i = 0; i < n; ++i) {
    float* y = out + offsets[i];
    const float* m = message + offsets[i];
    const float* x = v + offsets[i];
    const int64_t c = offsets[i + 1] - offsets[i];
    const float factor = scale * kappa[i];
    for (int64_t j = 0; j < c; ++j) y[j] = m[j] + factor * x[j];
    const float reach = alpha * kappa[i];
    const float inverse = reach / exp_shifted_(y, c);
    const float shift = reach / static_cast<float>(c);
    for (int64_t j = 0; j < c; ++j) y[j] = (y[j] * inverse - shift) + pull * x[j];
  }
}

// Rows per task: enough work to be worth handing to a thread.
int64_t grain(int64_t row_length) { return std::max<int64_t>(1, (1 << 14) / row_length); }

void require_rows(const torch::Tensor& x, const Space& space) {
  if (!serves(x) || !x.is_contiguous() || x.dim() != 2 || x.size(1) != space.n_coordinates())
    fail("kernel: expected contiguous float32 rows of ", space.n_coordinates(), " on the CPU, found ", x.sizes());
}

}  // namespace

bool serves(const torch::Tensor& x) { return x.device().is_cpu() && x.scalar_type() == torch::kFloat32; }

void gaussian_path_(const torch::Tensor& noise, const Space& space, const torch::Tensor& labels, const torch::Tensor& a,
                    const torch::Tensor& s, const torch::Tensor& kappa) {
  require_rows(noise, space);
  const int64_t S = noise.size(1);
  const int64_t n = space.n_variables();
  const auto labels_here = labels.contiguous();
  auto* rows = noise.data_ptr<float>();
  const auto* offsets = space.offsets().data_ptr<int64_t>();
  const auto* beta = labels_here.data_ptr<int64_t>();
  const auto* signal = a.data_ptr<float>();
  const auto* spread = s.data_ptr<float>();
  const auto* scale = kappa.data_ptr<float>();
  parallel_for(0, noise.size(0), grain(S), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) path_row(rows + b * S, offsets, n, beta + b * n, signal[b], spread[b], scale);
  });
}

torch::Tensor scaled_softmax(const torch::Tensor& v, const Space& space, const torch::Tensor& scale,
                             const torch::Tensor& kappa) {
  require_rows(v, space);
  auto out = torch::empty_like(v);
  const int64_t S = v.size(1);
  const bool shared = scale.numel() == 1;
  const auto* in = v.data_ptr<float>();
  auto* rows = out.data_ptr<float>();
  const auto* offsets = space.offsets().data_ptr<int64_t>();
  const auto* factor = scale.data_ptr<float>();
  const auto* reach = kappa.data_ptr<float>();
  parallel_for(0, v.size(0), grain(S), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b)
      softmax_row(rows + b * S, in + b * S, offsets, space.n_variables(), factor[shared ? 0 : b], reach);
  });
  return out;
}

CrossEntropy cross_entropy(const torch::Tensor& message, const torch::Tensor& v, const Space& space,
                           const torch::Tensor& scale, const torch::Tensor& kappa, const torch::Tensor& labels,
                           const torch::Tensor& weight) {
  require_rows(message, space);
  require_rows(v, space);
  CrossEntropy out{torch::empty({v.size(0)}, v.options()), torch::empty({v.size(0)}, v.options()),
                   torch::empty_like(v)};
  const int64_t S = v.size(1);
  const int64_t n = space.n_variables();
  const auto labels_here = labels.contiguous();
  const auto* m = message.data_ptr<float>();
  const auto* x = v.data_ptr<float>();
  const auto* offsets = space.offsets().data_ptr<int64_t>();
  const auto* factor = scale.numel() > 0 ? scale.data_ptr<float>() : nullptr;
  const auto* reach = kappa.data_ptr<float>();
  const auto* beta = labels_here.data_ptr<int64_t>();
  const auto* importance = weight.data_ptr<float>();
  auto* loss = out.loss.data_ptr<float>();
  auto* error = out.error.data_ptr<float>();
  auto* gradient = out.gradient.data_ptr<float>();
  parallel_for(0, v.size(0), grain(S), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const RowLoss row = cross_entropy_row(gradient + b * S, m + b * S, x + b * S, offsets, n,
                                            factor == nullptr ? 0.0f : factor[b], reach, beta + b * n, importance[b]);
      loss[b] = row.loss;
      error[b] = row.error;
    }
  });
  return out;
}

torch::Tensor endpoint_velocity(const torch::Tensor& message, const torch::Tensor& v, const Space& space, double scale,
                                double alpha, double pull, const torch::Tensor& kappa) {
  require_rows(message, space);
  require_rows(v, space);
  auto out = torch::empty_like(v);
  const int64_t S = v.size(1);
  const auto* m = message.data_ptr<float>();
  const auto* x = v.data_ptr<float>();
  const auto* offsets = space.offsets().data_ptr<int64_t>();
  const auto* reach = kappa.data_ptr<float>();
  auto* rows = out.data_ptr<float>();
  parallel_for(0, v.size(0), grain(S), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b)
      velocity_row(rows + b * S, m + b * S, x + b * S, offsets, space.n_variables(), static_cast<float>(scale),
                   static_cast<float>(alpha), static_cast<float>(pull), reach);
  });
  return out;
}

}  // namespace segre::kernels
