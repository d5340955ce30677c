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

// One row of KnownRows; null pointers if nothing is known.
struct KnownRow {
  const int64_t* marks;
  const float* soft;

  [[gnu::always_inline]] bool is_carried(int64_t i) const { return marks == nullptr || marks[i] == kUnknown; }
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

SEGRE_MULTIVERSION
void softmax_row(float* out, const float* v, const int64_t* offsets, int64_t n, PerVariable scale, const float* kappa,
                 KnownRow known) {
  for (int64_t i = 0; i < n; ++i) {
    float* y = out + offsets[i];
    const float* x = v + offsets[i];
    const int64_t c = offsets[i + 1] - offsets[i];
    if (known.marks != nullptr && known.marks[i] >= 0) {
      std::fill_n(y, c, 0.0f);
      y[known.marks[i]] = 1.0f;
      continue;
    }
    if (known.is_carried(i)) {
      const float factor = scale[i] * kappa[i];
      for (int64_t j = 0; j < c; ++j) y[j] = factor * x[j];
    } else {
      std::fill_n(y, c, 0.0f);
    }
    if (known.soft != nullptr)
      for (int64_t j = 0; j < c; ++j) y[j] += known.soft[offsets[i] + j];
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
    fail("kernel: expected contiguous float32 rows of ", space.n_coordinates(), " on the CPU, found ", x.sizes());
}

// Numbers [B], [1] or [B, n] of one row each.
class PerRow {
 public:
  PerRow(const torch::Tensor& values, int64_t n)
      : values_(values.numel() > 0 ? values.data_ptr<float>() : nullptr),
        row_(values.numel() == 1 ? 0
             : values.dim() == 2 ? n
                                 : 1),
        step_(values.dim() == 2 ? 1 : 0) {
    if (!values.is_contiguous()) fail("kernel: expected contiguous numbers per row, found ", values.sizes());
  }
  PerVariable operator[](int64_t b) const { return {values_ == nullptr ? nullptr : values_ + b * row_, step_}; }

 private:
  const float* values_;
  int64_t row_, step_;
};

class KnownTable {
 public:
  KnownTable(const KnownRows& known, const Space& space)
      : marks_(known.marks.defined() ? known.marks.data_ptr<int64_t>() : nullptr),
        soft_(known.soft.defined() ? known.soft.data_ptr<float>() : nullptr),
        n_(space.n_variables()),
        S_(space.n_coordinates()) {
    for (const auto* x : {&known.marks, &known.soft})
      if (x->defined() && !x->is_contiguous()) fail("kernel: expected contiguous rows of what is known");
  }
  KnownRow operator[](int64_t b) const {
    return {marks_ == nullptr ? nullptr : marks_ + b * n_, soft_ == nullptr ? nullptr : soft_ + b * S_};
  }

 private:
  const int64_t* marks_;
  const float* soft_;
  int64_t n_, S_;
};

}  // namespace

bool serves(const torch::Tensor& x) { return x.device().is_cpu() && x.scalar_type() == torch::kFloat32; }

void gaussian_path_(const torch::Tensor& noise, const Space& space, const torch::Tensor& labels, const torch::Tensor& a,
                    const torch::Tensor& s, const torch::Tensor& kappa, const KnownRows& known) {
  require_rows(noise, space);
  const int64_t S = noise.size(1);
  const int64_t n = space.n_variables();
  const auto labels_here = labels.contiguous();
  auto* rows = noise.data_ptr<float>();
  const auto* offsets = space.offsets().data_ptr<int64_t>();
  const auto* beta = labels_here.data_ptr<int64_t>();
  const PerRow signal(a, n);
  const PerRow spread(s, n);
  const KnownTable table(known, space);
  const auto* scale = kappa.data_ptr<float>();
  parallel_for(0, noise.size(0), grain(S), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b)
      path_row(rows + b * S, offsets, n, beta + b * n, signal[b], spread[b], scale, table[b]);
  });
}

torch::Tensor scaled_softmax(const torch::Tensor& v, const Space& space, const torch::Tensor& scale,
                             const torch::Tensor& kappa, const KnownRows& known) {
  require_rows(v, space);
  auto out = torch::empty_like(v);
  const int64_t S = v.size(1);
  const auto* in = v.data_ptr<float>();
  auto* rows = out.data_ptr<float>();
  const auto* offsets = space.offsets().data_ptr<int64_t>();
  const PerRow factor(scale, space.n_variables());
  const KnownTable table(known, space);
  const auto* reach = kappa.data_ptr<float>();
  parallel_for(0, v.size(0), grain(S), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b)
      softmax_row(rows + b * S, in + b * S, offsets, space.n_variables(), factor[b], reach, table[b]);
  });
  return out;
}

CrossEntropy cross_entropy(const torch::Tensor& message, const torch::Tensor& v, const Space& space,
                           const torch::Tensor& scale, const torch::Tensor& kappa, const torch::Tensor& labels,
                           const torch::Tensor& weight, const KnownRows& known) {
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
  const PerRow factor(scale, n);
  const KnownTable table(known, space);
  const auto* reach = kappa.data_ptr<float>();
  const auto* beta = labels_here.data_ptr<int64_t>();
  const auto* importance = weight.data_ptr<float>();
  auto* loss = out.loss.data_ptr<float>();
  auto* error = out.error.data_ptr<float>();
  auto* gradient = out.gradient.data_ptr<float>();
  parallel_for(0, v.size(0), grain(S), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const RowLoss row = cross_entropy_row(gradient + b * S, m + b * S, x + b * S, offsets, n, factor[b], reach,
                                            beta + b * n, importance[b], table[b]);
      loss[b] = row.loss;
      error[b] = row.error;
    }
  });
  return out;
}

torch::Tensor endpoint_velocity(const torch::Tensor& message, const torch::Tensor& v, const Space& space, double scale,
                                double alpha, double pull, const torch::Tensor& kappa, const KnownRows& known) {
  require_rows(message, space);
  require_rows(v, space);
  auto out = torch::empty_like(v);
  const int64_t S = v.size(1);
  const auto* m = message.data_ptr<float>();
  const auto* x = v.data_ptr<float>();
  const auto* offsets = space.offsets().data_ptr<int64_t>();
  const auto* reach = kappa.data_ptr<float>();
  auto* rows = out.data_ptr<float>();
  const KnownTable table(known, space);
  parallel_for(0, v.size(0), grain(S), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b)
      velocity_row(rows + b * S, m + b * S, x + b * S, offsets, space.n_variables(), static_cast<float>(scale),
                   static_cast<float>(alpha), static_cast<float>(pull), reach, table[b]);
  });
  return out;
}

}  // namespace segre::kernels
