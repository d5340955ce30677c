// CUDA twins of the loops in path_kernels.cpp. A group of threads works on one variable of one item at a time: one
// thread if there are few labels, a warp, or a whole block. Each thread has every G-th label and reads back only what
// it wrote itself, so nothing but the sums and maxima needs the other threads. Those are combined in an order that
// depends on the number of labels alone: an item has the same bits in every batch.

#include "segre/core/scalar_math.h"
#include "segre/kernels/cuda_parts.cuh"
#include "segre/kernels/path_kernels_parts.h"

namespace segre::kernels::detail {
namespace {

constexpr int kWarp = 32;
constexpr int kThreads = 256;  // per block
constexpr int kWarps = kThreads / kWarp;

// The most labels of a variable for groups of one thread, and of a warp.
constexpr int64_t kMostForThread = 8;
constexpr int64_t kMostForWarp = 1024;

struct Plus {
  __device__ float operator()(float x, float y) const { return x + y; }
};
struct Larger {
  __device__ float operator()(float x, float y) const { return x > y ? x : y; }
};

template <class Combine>
__device__ inline float warp_reduce(float value, const Combine& combine) {
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
  return value;
}

template <class Combine>
__device__ inline float block_reduce(float value, const Combine& combine) {
  __shared__ float part[kWarps];
  value = warp_reduce(value, combine);
  if (threadIdx.x % kWarp == 0) part[threadIdx.x / kWarp] = value;
  __syncthreads();
  float all = part[0];
#pragma unroll
  for (int w = 1; w < kWarps; ++w) all = combine(all, part[w]);
  __syncthreads();  // before the next reduction overwrites the parts
  return all;
}

// G threads that work on one variable: 1, a warp or the block.
template <int G>
struct Group {
  static_assert(G == 1 || G == kWarp || G == kThreads);
  static constexpr int kPerBlock = kThreads / G;

  __device__ static int lane() { return static_cast<int>(threadIdx.x) % G; }
  __device__ static int64_t first() { return int64_t{blockIdx.x} * kPerBlock + threadIdx.x / G; }
  __device__ static int64_t step() { return int64_t{gridDim.x} * kPerBlock; }

  // Over the group's threads; all of them get the same bits.
  template <class Combine>
  __device__ static float reduce(float value, const Combine& combine) {
    if constexpr (G == kWarp) value = warp_reduce(value, combine);
    if constexpr (G == kThreads) value = block_reduce(value, combine);
    return value;
  }
  __device__ static float sum(float value) { return reduce(value, Plus{}); }
  __device__ static float max(float value) { return reduce(value, Larger{}); }
};

__device__ inline float at(const PerRow& numbers, int64_t b, int64_t i) {
  return numbers.values[b * numbers.row + i * numbers.step];
}

// One variable of one item.
struct Variable {
  int64_t b, i;
  int64_t first;  // its first coordinate among all B S
  int c;
  int64_t mark;
  float kappa;
  const float* soft;  // [c] or null

  // Number k = b n + i.
  __device__ Variable(const PathRows& rows, int64_t k) : b(k / rows.n), i(k - b * rows.n) {
    int64_t start = i * rows.n_labels;
    int64_t count = rows.n_labels;
    if (rows.starts != nullptr) {
      start = rows.starts[i];
      count = (i + 1 < rows.n ? rows.starts[i + 1] : rows.S) - start;
    }
    first = b * rows.S + start;
    c = static_cast<int>(count);
    mark = rows.marks == nullptr ? kCarried : rows.marks[k];
    kappa = rows.kappa[i];
    soft = rows.soft == nullptr ? nullptr : rows.soft + first;
  }
  __device__ bool is_carried() const { return mark == kCarried; }
  __device__ float with_soft(float logit, int j) const { return soft == nullptr ? logit : logit + soft[j]; }
};

template <int G>
__device__ inline void fill_zeros(float* y, int c) {
  for (int j = Group<G>::lane(); j < c; j += G) y[j] = 0.0f;
}

// y = exp(logit - max), and the sum of that. `logit` is a function of the label.
struct Exponentials {
  float largest, total;
};
template <int G, class Logit>
__device__ inline Exponentials exponentials(float* y, int c, const Logit& logit) {
  float largest = -INFINITY;
  for (int j = Group<G>::lane(); j < c; j += G) {
    const float x = logit(j);
    largest = x > largest ? x : largest;
    y[j] = x;
  }
  largest = Group<G>::max(largest);
  float total = 0.0f;
  for (int j = Group<G>::lane(); j < c; j += G) {
    const float x = scalar_math::exp(y[j] - largest);
    total += x;
    y[j] = x;
  }
  return {largest, Group<G>::sum(total)};
}

template <int G>
__global__ void __launch_bounds__(kThreads)
    gaussian_path_kernel(PathRows rows, float* noise, const int64_t* labels, PerRow a, PerRow s) {
  for (int64_t k = Group<G>::first(); k < rows.B * rows.n; k += Group<G>::step()) {
    const Variable of(rows, k);
    float* x = noise + of.first;
    if (!of.is_carried()) {
      fill_zeros<G>(x, of.c);
      continue;
    }
    float sum = 0.0f;
    for (int j = Group<G>::lane(); j < of.c; j += G) sum += x[j];
    const float spread = at(s, of.b, of.i);
    const float reach = at(a, of.b, of.i) * of.kappa;
    const auto count = static_cast<float>(of.c);
    const float shift = spread * (Group<G>::sum(sum) / count) + reach / count;
    const int64_t label = labels[k];
    for (int j = Group<G>::lane(); j < of.c; j += G) {
      const float moved = spread * x[j] - shift;
      x[j] = j == label ? moved + reach : moved;
    }
  }
}

// The variance of the log-likelihood ratio of two labels; see Model::strength.
__device__ inline float strength_of(const Variable& of, int64_t k, const EvidenceNumbers& numbers) {
  const auto of_ratio = [&](float ratio) {
    const float x = of.kappa * ratio;
    return 2.0f * (x * x);
  };
  if (of.mark >= 0) return of_ratio(*numbers.last_ratio);
  const float g = of.is_carried() ? of_ratio(at(numbers.ratio, of.b, of.i)) : 0.0f;
  return numbers.soft_odds == nullptr ? g : g + 2.0f * numbers.soft_odds[k];
}

template <int G>
__global__ void __launch_bounds__(kThreads)
    evidence_kernel(PathRows rows, const float* v, EvidenceNumbers numbers, EvidenceOutputs out) {
  for (int64_t k = Group<G>::first(); k < rows.B * rows.n; k += Group<G>::step()) {
    const Variable of(rows, k);
    float g = 0.0f;
    if (out.strength != nullptr) {
      g = strength_of(of, k, numbers);
      if (Group<G>::lane() == 0) out.strength[k] = g;
    }
    const float shrink = 1.0f / sqrtf(1.0f + g);
    float* W = out.W + of.first;
    float* z = out.standardised == nullptr ? nullptr : out.standardised + of.first;
    if (of.mark >= 0) {
      const float evenly = 1.0f / static_cast<float>(of.c);
      const float size = 0.5f * g * shrink;
      for (int j = Group<G>::lane(); j < of.c; j += G) {
        const float corner = j == of.mark ? 1.0f : 0.0f;
        W[j] = corner;
        if (z != nullptr) z[j] = (corner - evenly) * size;
      }
      continue;
    }
    const float* x = v + of.first;
    const bool is_carried = of.is_carried();
    const float factor = is_carried ? at(numbers.scale, of.b, of.i) * of.kappa : 0.0f;
    const Exponentials e = exponentials<G>(W, of.c, [&](int j) {
      const float evidence = of.with_soft(is_carried ? factor * x[j] : 0.0f, j);
      if (z != nullptr) z[j] = evidence * shrink;
      return evidence;
    });
    const float inverse = 1.0f / e.total;
    for (int j = Group<G>::lane(); j < of.c; j += G) W[j] *= inverse;
  }
}

template <int G>
__global__ void __launch_bounds__(kThreads)
    cross_entropy_kernel(PathRows rows, const float* message, const float* v, PerRow scale, const int64_t* labels,
                         const float* weight, float* gradient, float* losses, float* errors) {
  for (int64_t k = Group<G>::first(); k < rows.B * rows.n; k += Group<G>::step()) {
    const Variable of(rows, k);
    float* y = gradient + of.first;
    float loss = 0.0f;
    float error = 0.0f;
    if (of.is_carried()) {
      const float* m = message + of.first;
      const float* x = v + of.first;
      const float factor = scale.values != nullptr ? at(scale, of.b, of.i) * of.kappa : 0.0f;
      const auto logit = [&](int j) { return of.with_soft(m[j] + factor * x[j], j); };
      const auto label = static_cast<int>(labels[k]);
      const Exponentials e = exponentials<G>(y, of.c, logit);
      loss = scalar_math::log(e.total) - (logit(label) - e.largest);
      const float inverse = 1.0f / e.total;
      const float importance = weight[of.b];
      float squares = 0.0f;
      for (int j = Group<G>::lane(); j < of.c; j += G) {
        const float p = y[j] * inverse;
        const float difference = j == label ? p - 1.0f : p;
        squares += difference * difference;
        y[j] = difference * importance;
      }
      error = of.kappa * of.kappa * Group<G>::sum(squares);
    } else {
      fill_zeros<G>(y, of.c);
    }
    if (Group<G>::lane() == 0) {
      losses[k] = loss;
      errors[k] = error;
    }
  }
}

// The sums of rows of n numbers, a block per row.
__global__ void __launch_bounds__(kThreads)
    sum_rows_kernel(const float* losses, const float* errors, float* loss, float* error, int64_t B, int64_t n) {
  for (int64_t b = blockIdx.x; b < B; b += gridDim.x) {
    float of_loss = 0.0f;
    float of_error = 0.0f;
    for (int64_t i = threadIdx.x; i < n; i += kThreads) {
      of_loss += losses[b * n + i];
      of_error += errors[b * n + i];
    }
    of_loss = block_reduce(of_loss, Plus{});
    of_error = block_reduce(of_error, Plus{});
    if (threadIdx.x == 0) {
      loss[b] = of_loss;
      error[b] = of_error;
    }
  }
}

template <int G>
__global__ void __launch_bounds__(kThreads) velocity_kernel(PathRows rows, const float* message, const float* v,
                                                            float scale, float alpha, float pull, float* out) {
  for (int64_t k = Group<G>::first(); k < rows.B * rows.n; k += Group<G>::step()) {
    const Variable of(rows, k);
    float* y = out + of.first;
    if (!of.is_carried()) {
      fill_zeros<G>(y, of.c);
      continue;
    }
    const float* m = message + of.first;
    const float* x = v + of.first;
    const float factor = scale * of.kappa;
    const Exponentials e = exponentials<G>(y, of.c, [&](int j) { return of.with_soft(m[j] + factor * x[j], j); });
    const float reach = alpha * of.kappa;
    const float inverse = reach / e.total;
    const float shift = reach / static_cast<float>(of.c);
    for (int j = Group<G>::lane(); j < of.c; j += G) y[j] = (y[j] * inverse - shift) + pull * x[j];
  }
}

unsigned grid_of(int64_t blocks) {
  constexpr int64_t kMost = 1 << 20;  // the kernels' loops take the rest
  return static_cast<unsigned>(blocks < kMost ? blocks : kMost);
}

// Calls run(integral_constant G, grid) with groups that fit the number of labels; not at all without rows.
template <class Run>
void dispatch_groups(const PathRows& rows, const Run& run) {
  const int64_t groups = rows.B * rows.n;
  if (groups == 0) return;
  const auto with = [&](auto size) {
    constexpr int kPerBlock = Group<decltype(size)::value>::kPerBlock;
    run(size, grid_of((groups + kPerBlock - 1) / kPerBlock));
  };
  if (rows.max_labels <= kMostForThread) return with(std::integral_constant<int, 1>{});
  if (rows.max_labels <= kMostForWarp) return with(std::integral_constant<int, kWarp>{});
  with(std::integral_constant<int, kThreads>{});
}

}  // namespace

void gaussian_path_cuda(const PathRows& rows, float* noise, const int64_t* labels, const PerRow& a, const PerRow& s,
                        void* cuda_stream) {
  dispatch_groups(rows, [&](auto size, unsigned grid) {
    gaussian_path_kernel<decltype(size)::value>
        <<<grid, kThreads, 0, static_cast<cudaStream_t>(cuda_stream)>>>(rows, noise, labels, a, s);
  });
  cuda::check_launch("a path");
}

void evidence_cuda(const PathRows& rows, const float* v, const EvidenceNumbers& numbers, const EvidenceOutputs& out,
                   void* cuda_stream) {
  dispatch_groups(rows, [&](auto size, unsigned grid) {
    evidence_kernel<decltype(size)::value>
        <<<grid, kThreads, 0, static_cast<cudaStream_t>(cuda_stream)>>>(rows, v, numbers, out);
  });
  cuda::check_launch("the evidence");
}

void cross_entropy_cuda(const PathRows& rows, const float* message, const float* v, const PerRow& scale,
                        const int64_t* labels, const float* weight, float* gradient, float* of_variables, float* loss,
                        float* error, void* cuda_stream) {
  const auto stream = static_cast<cudaStream_t>(cuda_stream);
  float* const losses = of_variables;
  float* const errors = of_variables + rows.B * rows.n;
  dispatch_groups(rows, [&](auto size, unsigned grid) {
    cross_entropy_kernel<decltype(size)::value>
        <<<grid, kThreads, 0, stream>>>(rows, message, v, scale, labels, weight, gradient, losses, errors);
    sum_rows_kernel<<<grid_of(rows.B), kThreads, 0, stream>>>(losses, errors, loss, error, rows.B, rows.n);
  });
  cuda::check_launch("a cross entropy");
}

void endpoint_velocity_cuda(const PathRows& rows, const float* message, const float* v, float scale, float alpha,
                            float pull, float* out, void* cuda_stream) {
  dispatch_groups(rows, [&](auto size, unsigned grid) {
    velocity_kernel<decltype(size)::value>
        <<<grid, kThreads, 0, static_cast<cudaStream_t>(cuda_stream)>>>(rows, message, v, scale, alpha, pull, out);
  });
  cuda::check_launch("a velocity");
}

}  // namespace segre::kernels::detail
