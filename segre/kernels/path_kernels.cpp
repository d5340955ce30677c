#include "segre/kernels/path_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "segre/core/error.h"
#include "segre/core/parallel.h"
#include "segre/core/scalar_math.h"
#include "segre/core/simd.h"
#include "segre/kernels/launch_parts.h"
#include "segre/kernels/path_kernels_parts.h"

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

// One row of KnownRows; null pointers if nothing is known.
struct KnownRow {
  const int64_t* marks;
  const float* soft;

  [[gnu::always_inline]] bool is_carried(int64_t i) const { return marks == nullptr || marks[i] == kUnknown; }
  [[gnu::always_inline]] bool is_known(int64_t i) const { return marks != nullptr && marks[i] >= 0; }
};

// A number of a row: one for all variables (step 0), or one each (step 1).
struct PerVariable {
  const float* values;
  int64_t step;

  [[gnu::always_inline]] float operator[](int64_t i) const { return values[i * step]; }
};

// The logits of one variable: message and evidence. Both may be absent.
[[gnu::always_inline]] inline void logits_of(float* y, const float* message, const float* v, float factor,
                                             const KnownRow& known, int64_t at, int64_t c) {
  for (int64_t j = 0; j < c; ++j) y[j] = message[j] + factor * v[j];
  if (known.soft != nullptr)
    for (int64_t j = 0; j < c; ++j) y[j] += known.soft[at + j];
}

SEGRE_MULTIVERSION
void path_row(float* row, const int64_t* offsets, int64_t n, const int64_t* labels, PerVariable a, PerVariable s,
              const float* kappa, KnownRow known) {
  for (int64_t i = 0; i < n; ++i) {
    float* x = row + offsets[i];
    const int64_t c = offsets[i + 1] - offsets[i];
    if (!known.is_carried(i)) {
      std::fill_n(x, c, 0.0f);
      continue;
    }
    const float spread = s[i];
    const float reach = a[i] * kappa[i];
    const float shift = spread * (sum(x, c) / static_cast<float>(c)) + reach / static_cast<float>(c);
    for (int64_t j = 0; j < c; ++j) x[j] = spread * x[j] - shift;
    x[labels[i]] += reach;
  }
}

// The evidence of one variable whose label is not known.
[[gnu::always_inline]] inline void evidence_of(float* y, const float* v, int64_t i, float factor, const KnownRow& known,
                                               int64_t at, int64_t c) {
  if (known.is_carried(i)) {
    for (int64_t j = 0; j < c; ++j) y[j] = factor * v[j];
  } else {
    std::fill_n(y, c, 0.0f);
  }
  if (known.soft != nullptr)
    for (int64_t j = 0; j < c; ++j) y[j] += known.soft[at + j];
}

[[gnu::always_inline]] inline void softmax_(float* y, int64_t c) {
  const float inverse = 1.0f / exp_shifted_(y, c);
  for (int64_t j = 0; j < c; ++j) y[j] *= inverse;
}

[[gnu::always_inline]] inline void set_corner(float* y, int64_t label, int64_t c) {
  std::fill_n(y, c, 0.0f);
  y[label] = 1.0f;
}

SEGRE_MULTIVERSION
void softmax_row(float* out, const float* v, const int64_t* offsets, int64_t n, PerVariable scale, const float* kappa,
                 KnownRow known) {
  for (int64_t i = 0; i < n; ++i) {
    float* y = out + offsets[i];
    const int64_t c = offsets[i + 1] - offsets[i];
    if (known.is_known(i)) {
      set_corner(y, known.marks[i], c);
      continue;
    }
    evidence_of(y, v + offsets[i], i, scale[i] * kappa[i], known, offsets[i], c);
    softmax_(y, c);
  }
}

// One row of EvidenceRatios and the odds of soft evidence (null without).
struct RatioRow {
  PerVariable scale, ratio;
  float last;
  const float* soft_odds;

  // See Model::strength.
  [[gnu::always_inline]] float strength(int64_t i, float kappa, const KnownRow& known) const {
    const auto of = [&](float x) { return 2.0f * ((kappa * x) * (kappa * x)); };
    if (known.is_known(i)) return of(last);
    const float g = known.is_carried(i) ? of(ratio[i]) : 0.0f;
    return soft_odds == nullptr ? g : g + 2.0f * soft_odds[i];
  }
};

// `standardised` may be null.
SEGRE_MULTIVERSION
void evidence_row(float* W, float* strength, float* standardised, const float* v, const int64_t* offsets, int64_t n,
                  const RatioRow& numbers, const float* kappa, KnownRow known) {
  for (int64_t i = 0; i < n; ++i) {
    float* y = W + offsets[i];
    float* z = standardised == nullptr ? nullptr : standardised + offsets[i];
    const int64_t c = offsets[i + 1] - offsets[i];
    const float g = numbers.strength(i, kappa[i], known);
    const float shrink = 1.0f / std::sqrt(1.0f + g);
    strength[i] = g;
    if (known.is_known(i)) {
      set_corner(y, known.marks[i], c);
      const float size = 0.5f * g * shrink;
      const float evenly = 1.0f / static_cast<float>(c);
      if (z != nullptr)
        for (int64_t j = 0; j < c; ++j) z[j] = (y[j] - evenly) * size;
      continue;
    }
    evidence_of(y, v + offsets[i], i, numbers.scale[i] * kappa[i], known, offsets[i], c);
    if (z != nullptr)
      for (int64_t j = 0; j < c; ++j) z[j] = y[j] * shrink;
    softmax_(y, c);
  }
}

struct RowLoss {
  float loss;
  float error;
};

SEGRE_MULTIVERSION
RowLoss cross_entropy_row(float* gradient, const float* message, const float* v, const int64_t* offsets, int64_t n,
                          PerVariable scale, const float* kappa, const int64_t* labels, float weight, KnownRow known) {
  RowLoss out{0.0f, 0.0f};
  for (int64_t i = 0; i < n; ++i) {
    float* y = gradient + offsets[i];
    const int64_t c = offsets[i + 1] - offsets[i];
    if (!known.is_carried(i)) {
      std::fill_n(y, c, 0.0f);
      continue;
    }
    const float factor = scale.values != nullptr ? scale[i] * kappa[i] : 0.0f;
    logits_of(y, message + offsets[i], v + offsets[i], factor, known, offsets[i], c);
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
                  float alpha, float pull, const float* kappa, KnownRow known) {
  for (int64_t i = 0; i < n; ++i) {
    float* y = out + offsets[i];
    const float* x = v + offsets[i];
    const int64_t c = offsets[i + 1] - offsets[i];
    if (!known.is_carried(i)) {
      std::fill_n(y, c, 0.0f);
      continue;
    }
    logits_of(y, message + offsets[i], x, scale * kappa[i], known, offsets[i], c);
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
    fail("kernel: expected contiguous float32 rows of ", space.n_coordinates(), " on a device it supports, found ",
         x.dtype().name(), " ", x.sizes(), " on ", x.device());
}

// The memory of a tensor that a kernel reads: contiguous, and on the device of the rows. Null if it is undefined.
template <class T>
const T* memory(const torch::Tensor& x, const torch::Tensor& rows) {
  if (!x.defined()) return nullptr;
  if (!x.is_contiguous() || x.device() != rows.device())
    fail("kernel: expected contiguous numbers on ", rows.device(), ", found ", x.sizes(), " on ", x.device());
  return x.data_ptr<T>();
}

// Numbers [B], [1] or [B, n]; empty: none.
detail::PerRow per_row(const torch::Tensor& values, const torch::Tensor& rows, int64_t n) {
  if (values.numel() == 0) return {};
  const bool of_variables = values.dim() == 2;
  return {memory<float>(values, rows), values.numel() == 1 ? 0 : of_variables ? n : 1, of_variables ? 1 : 0};
}

// What all kernels read besides their own inputs.
struct Rows {
  Rows(const torch::Tensor& like, const Space& space, const torch::Tensor& scales, const KnownRows& known_rows)
      : B(like.size(0)),
        n(space.n_variables()),
        S(space.n_coordinates()),
        kappa(memory<float>(scales, like)),
        marks(memory<int64_t>(known_rows.marks, like)),
        soft(memory<float>(known_rows.soft, like)) {}

  KnownRow known(int64_t b) const {
    return {marks == nullptr ? nullptr : marks + b * n, soft == nullptr ? nullptr : soft + b * S};
  }
  // Calls run(b) for every row, on the CPU's threads.
  template <class Run>
  void for_each(const Run& run) const {
    parallel_for(0, B, grain(S), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) run(b);
    });
  }

  int64_t B, n, S;
  const float* kappa;
  const int64_t* marks;
  const float* soft;
};

PerVariable row_of(const detail::PerRow& numbers, int64_t b) {
  return {numbers.values == nullptr ? nullptr : numbers.values + b * numbers.row, numbers.step};
}

#ifdef SEGRE_CUDA
static_assert(detail::kCarried == kUnknown);

detail::PathRows on_device(const Rows& rows, const Space& space, const torch::Tensor& like) {
  const bool uniform = space.is_uniform();
  return {.B = rows.B,
          .n = rows.n,
          .S = rows.S,
          .n_labels = uniform ? space.max_labels() : 0,
          .max_labels = space.max_labels(),
          .starts = uniform ? nullptr : space.starts(like.device()).data_ptr<int64_t>(),
          .kappa = rows.kappa,
          .marks = rows.marks,
          .soft = rows.soft};
}
#endif

}  // namespace

bool serves(const torch::Tensor& x) {
  if (x.scalar_type() != torch::kFloat32) return false;
#ifdef SEGRE_CUDA
  if (x.is_cuda()) return true;
#endif
  return x.is_cpu();
}

void gaussian_path_(const torch::Tensor& noise, const Space& space, const torch::Tensor& labels, const torch::Tensor& a,
                    const torch::Tensor& s, const torch::Tensor& kappa, const KnownRows& known) {
  require_rows(noise, space);
  const Rows rows(noise, space, kappa, known);
  const auto labels_here = labels.contiguous();
  const auto* beta = memory<int64_t>(labels_here, noise);
  const auto signal = per_row(a, noise, rows.n);
  const auto spread = per_row(s, noise, rows.n);
  auto* x = noise.data_ptr<float>();
#ifdef SEGRE_CUDA
  if (noise.is_cuda())
    return detail::gaussian_path_cuda(on_device(rows, space, noise), x, beta, signal, spread, stream_of(noise));
#endif
  const auto* offsets = space.offsets().data_ptr<int64_t>();
  rows.for_each([&](int64_t b) {
    path_row(x + b * rows.S, offsets, rows.n, beta + b * rows.n, row_of(signal, b), row_of(spread, b), rows.kappa,
             rows.known(b));
  });
}

torch::Tensor scaled_softmax(const torch::Tensor& v, const Space& space, const torch::Tensor& scale,
                             const torch::Tensor& kappa, const KnownRows& known) {
  require_rows(v, space);
  const Rows rows(v, space, kappa, known);
  const auto factor = per_row(scale, v, rows.n);
  auto out = torch::empty_like(v);
  const auto* x = v.data_ptr<float>();
  auto* W = out.data_ptr<float>();
#ifdef SEGRE_CUDA
  if (v.is_cuda()) {
    detail::evidence_cuda(on_device(rows, space, v), x, {.scale = factor}, {.W = W}, stream_of(v));
    return out;
  }
#endif
  const auto* offsets = space.offsets().data_ptr<int64_t>();
  rows.for_each([&](int64_t b) {
    softmax_row(W + b * rows.S, x + b * rows.S, offsets, rows.n, row_of(factor, b), rows.kappa, rows.known(b));
  });
  return out;
}

EvidenceInputs evidence_inputs(const torch::Tensor& v, const Space& space, const EvidenceRatios& ratios,
                               const torch::Tensor& kappa, const KnownRows& known, const torch::Tensor& soft_odds,
                               bool with_standardised) {
  require_rows(v, space);
  const Rows rows(v, space, kappa, known);
  const auto scale = per_row(ratios.scale, v, rows.n);
  const auto ratio = per_row(ratios.ratio, v, rows.n);
  const auto* last = memory<float>(ratios.last, v);
  const auto* odds = memory<float>(soft_odds, v);
  EvidenceInputs out{torch::empty_like(v), torch::empty({rows.B, rows.n}, v.options()),
                     with_standardised ? torch::empty_like(v) : torch::Tensor()};
  const auto* x = v.data_ptr<float>();
  auto* W = out.W.data_ptr<float>();
  auto* g = out.strength.data_ptr<float>();
  auto* z = with_standardised ? out.standardised.data_ptr<float>() : nullptr;
#ifdef SEGRE_CUDA
  if (v.is_cuda()) {
    detail::evidence_cuda(on_device(rows, space, v), x, {scale, ratio, last, odds}, {W, g, z}, stream_of(v));
    return out;
  }
#endif
  const auto* offsets = space.offsets().data_ptr<int64_t>();
  rows.for_each([&](int64_t b) {
    const int64_t at = b * rows.S;
    const RatioRow numbers{row_of(scale, b), row_of(ratio, b), *last, odds == nullptr ? nullptr : odds + b * rows.n};
    evidence_row(W + at, g + b * rows.n, z == nullptr ? nullptr : z + at, x + at, offsets, rows.n, numbers, rows.kappa,
                 rows.known(b));
  });
  return out;
}

CrossEntropy cross_entropy(const torch::Tensor& message, const torch::Tensor& v, const Space& space,
                           const torch::Tensor& scale, const torch::Tensor& kappa, const torch::Tensor& labels,
                           const torch::Tensor& weight, const KnownRows& known) {
  require_rows(message, space);
  require_rows(v, space);
  const Rows rows(v, space, kappa, known);
  const auto factor = per_row(scale, v, rows.n);
  const auto labels_here = labels.contiguous();
  const auto* beta = memory<int64_t>(labels_here, v);
  const auto* importance = memory<float>(weight, v);
  const auto* m = memory<float>(message, v);
  CrossEntropy out{torch::empty({rows.B}, v.options()), torch::empty({rows.B}, v.options()), torch::empty_like(v)};
  const auto* x = v.data_ptr<float>();
  auto* loss = out.loss.data_ptr<float>();
  auto* error = out.error.data_ptr<float>();
  auto* gradient = out.gradient.data_ptr<float>();
#ifdef SEGRE_CUDA
  if (v.is_cuda()) {
    const auto of_variables = torch::empty({2, rows.B, rows.n}, v.options());
    detail::cross_entropy_cuda(on_device(rows, space, v), m, x, factor, beta, importance, gradient,
                               of_variables.data_ptr<float>(), loss, error, stream_of(v));
    return out;
  }
#endif
  const auto* offsets = space.offsets().data_ptr<int64_t>();
  rows.for_each([&](int64_t b) {
    const int64_t at = b * rows.S;
    const RowLoss row = cross_entropy_row(gradient + at, m + at, x + at, offsets, rows.n, row_of(factor, b), rows.kappa,
                                          beta + b * rows.n, importance[b], rows.known(b));
    loss[b] = row.loss;
    error[b] = row.error;
  });
  return out;
}

torch::Tensor endpoint_velocity(const torch::Tensor& message, const torch::Tensor& v, const Space& space, double scale,
                                double alpha, double pull, const torch::Tensor& kappa, const KnownRows& known) {
  require_rows(message, space);
  require_rows(v, space);
  const Rows rows(v, space, kappa, known);
  const auto factor = static_cast<float>(scale);
  const auto to_endpoint = static_cast<float>(alpha);
  const auto along_v = static_cast<float>(pull);
  auto out = torch::empty_like(v);
  const auto* m = memory<float>(message, v);
  const auto* x = v.data_ptr<float>();
  auto* F = out.data_ptr<float>();
#ifdef SEGRE_CUDA
  if (v.is_cuda()) {
    detail::endpoint_velocity_cuda(on_device(rows, space, v), m, x, factor, to_endpoint, along_v, F, stream_of(v));
    return out;
  }
#endif
  const auto* offsets = space.offsets().data_ptr<int64_t>();
  rows.for_each([&](int64_t b) {
    const int64_t at = b * rows.S;
    velocity_row(F + at, m + at, x + at, offsets, rows.n, factor, to_endpoint, along_v, rows.kappa, rows.known(b));
  });
  return out;
}

}  // namespace segre::kernels
