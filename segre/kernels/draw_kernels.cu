// CUDA twins of TimeLaw::at and EvidenceLaw's operator(), each in one kernel instead of some thirty on a few hundred
// numbers, whose launches cost more than the work.

#include "segre/core/philox.h"
#include "segre/kernels/cuda_parts.cuh"
#include "segre/kernels/draw_kernels_parts.h"

namespace segre::kernels::detail {
namespace {

constexpr int kWarp = 32;
constexpr int kThreads = 256;
constexpr int64_t kMostBlocks = 16 * 132;
static_assert(kTimeBins == 2 * kWarp);

unsigned grid_of(int64_t threads) {
  const int64_t wanted = (threads + kThreads - 1) / kThreads;
  return static_cast<unsigned>(wanted < kMostBlocks ? wanted : kMostBlocks);
}

// ---- times ----------------------------------------------------------------------------------------------------------

template <class T>
__device__ inline T warp_sum(T value) {
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

// The sum over this lane and those before it.
__device__ inline double warp_scan(double value, int lane) {
#pragma unroll
  for (int offset = 1; offset < kWarp; offset *= 2) {
    const double before = __shfl_up_sync(0xffffffffu, value, offset);
    if (lane >= offset) value += before;
  }
  return value;
}

// Unlike fmax and fmin these keep NaN, as the twin does: a step that is not finite must be noticed.
__device__ inline double at_least(double x, double least) { return x < least ? least : x; }
__device__ inline double at_most(double x, double most) { return x > most ? most : x; }

// The law's share of each bin, and the sum of the shares up to and with it. One warp, two neighbouring bins per lane.
__device__ inline void find_shares(const TimeBinsAt& law, int lane, double* share, double* below) {
  double known[2];
  bool seen[2];
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    const double mass = law.mass[2 * lane + k];
    seen[k] = mass > 0.0;
    known[k] = seen[k] ? law.sum[2 * lane + k] / mass : 0.0;
  }
  const int count = warp_sum((seen[0] ? 1 : 0) + (seen[1] ? 1 : 0));
  const double typical = warp_sum(known[0] + known[1]) / (count > 1 ? count : 1);
#pragma unroll
  for (int k = 0; k < 2; ++k) known[k] = at_least(seen[k] ? known[k] : typical, law.least);
  const double total = warp_sum(known[0] + known[1]);
#pragma unroll
  for (int k = 0; k < 2; ++k)
    share[2 * lane + k] = law.uniform_share / kTimeBins + (1.0 - law.uniform_share) * known[k] / total;
  const double up_to_here = warp_scan(share[2 * lane] + share[2 * lane + 1], lane);
  double before = __shfl_up_sync(0xffffffffu, up_to_here, 1);
  if (lane == 0) before = 0.0;
  below[2 * lane] = before + share[2 * lane];
  below[2 * lane + 1] = up_to_here;
}

// The first bin with below > u, or the last bin.
__device__ inline int find_bin(const double* below, double u) {
  int bin = 0;
#pragma unroll
  for (int step = kTimeBins / 2; step > 0; step /= 2)
    if (below[bin + step - 1] <= u) bin += step;
  return bin;
}

// Every block finds the shares itself, which is quicker than a second launch.
__global__ void __launch_bounds__(kThreads)
    times_kernel(TimeBinsAt law, const float* u, float* t, float* weight, int64_t count) {
  __shared__ double share[kTimeBins];
  __shared__ double below[kTimeBins];
  if (threadIdx.x < kWarp) find_shares(law, static_cast<int>(threadIdx.x), share, below);
  __syncthreads();
  const double width = law.t_max / kTimeBins;
  const int64_t step = int64_t{gridDim.x} * kThreads;
  for (int64_t b = int64_t{blockIdx.x} * kThreads + threadIdx.x; b < count; b += step) {
    const auto wanted = static_cast<double>(u[b]);
    const int bin = find_bin(below, wanted);
    const double within = at_most(at_least((wanted - below[bin]) / share[bin] + 1.0, 0.0), 1.0);
    t[b] = static_cast<float>((bin + within) * width);
    weight[b] = law.reweight ? static_cast<float>(1.0 / (kTimeBins * share[bin])) : 1.0f;
  }
}

// ---- evidence -------------------------------------------------------------------------------------------------------
// All in float32 and in the order of patterns.cpp, so that the sets are the same.

constexpr auto kCells = static_cast<float>(kCellsShare);
constexpr auto kNotCells = static_cast<float>(1.0 - kCellsShare);
constexpr auto kHalves = static_cast<float>(kHalvesShare);
constexpr auto kHalvesAndBorders = static_cast<float>(kHalvesShare + kBordersShare);

struct Interval {
  float from, to;
  __device__ bool has(float x) const { return x >= from && x < to; }
};
struct Box {
  Interval rows, columns;
};

// An interval of [0, length) with random ends in whole numbers, never empty.
__device__ inline Interval interval(float a, float b, float length) {
  const float one = floorf((length + 1.0f) * a);
  float other = floorf(length * b);
  if (other >= one) other += 1.0f;
  return {fminf(one, other), fmaxf(one, other)};
}

// A rectangle, half or border; `shape` has the item's numbers.
__device__ inline Box box_of(const EvidenceAt& draw, const float* shape) {
  const auto H = static_cast<float>(draw.height);
  const auto W = static_cast<float>(draw.width);
  if (draw.is_image) {
    const float kind = (shape[kKind] - kCells) / kNotCells;  // uniform among those that are not cells
    if (kind < kHalves && shape[kSide] < 0.5f) return {{0.0f, floorf(H * shape[kBottom]) + 1.0f}, {0.0f, W}};
    if (kind < kHalves) return {{0.0f, H}, {0.0f, floorf(W * shape[kRight]) + 1.0f}};
    if (kind < kHalvesAndBorders) {
      const float margin = floorf(fminf(H, W) / 2.0f * shape[kTop]);
      return {{margin, H - margin}, {margin, W - margin}};
    }
  }
  return {interval(shape[kTop], shape[kBottom], H), interval(shape[kLeft], shape[kRight], W)};
}

// Whether a variable is in the item's set; `cell` is the variable's number.
__device__ inline bool in_pattern(const EvidenceAt& draw, const float* shape, int64_t variable, float cell) {
  if (!draw.has_boxes || shape[kKind] < kCells) return cell < shape[kShare];
  const int64_t place = variable - draw.first;
  if (place < 0 || place >= draw.height * draw.width) return cell < shape[kShare];
  const Box box = box_of(draw, shape);
  const bool inside = box.rows.has(static_cast<float>(place / draw.width)) &&
                      box.columns.has(static_cast<float>(place % draw.width));
  return inside == (shape[kInside] < 0.5f);
}

// The item whose time a variable has, from its number.
__device__ inline int64_t other_item(float number, int64_t items) {
  const auto item = static_cast<int64_t>(number * static_cast<float>(items));
  return item < items ? item : items - 1;
}

// Variable `at` of all items' variables, with its two random numbers.
__device__ inline void tell(const EvidenceAt& draw, int64_t at, float known_cell, float own_cell) {
  const int64_t item = at / draw.variables;
  const int64_t variable = at - item * draw.variables;
  const float* numbers = draw.numbers + item * kItemNumbers;
  const int64_t label = draw.labels[at];
  const bool some = numbers[kIsKnown] < draw.known;
  const bool shown = some && label >= 0 && in_pattern(draw, numbers, variable, known_cell);
  draw.marks[at] = shown ? label : (label < 0 ? draw.left_out : draw.unknown);
  const bool erased = some && numbers[kIsErased] < draw.erased;
  const bool own = draw.has_own_times && !erased && numbers[kHasOwnTimes] < draw.own_times;
  if (draw.has_own_times || variable == 0) {
    const int64_t whose = own ? other_item(own_cell, draw.items) : item;
    draw.times[draw.has_own_times ? at : item] = erased ? 0.0f : draw.t[whose];
  }
  if (variable == 0) draw.plain[item] = !some && !own;
}

// One thread per Philox block, which has the numbers of four neighbouring variables.
__global__ void __launch_bounds__(kThreads) evidence_kernel(EvidenceAt draw) {
  const auto first = static_cast<uint64_t>(*draw.first_cell);
  const uint64_t first_block = first / 4;
  const int64_t count = draw.items * draw.variables;
  const uint64_t n_blocks = (first + static_cast<uint64_t>(count) + 3) / 4 - first_block;
  const uint64_t step = uint64_t{gridDim.x} * kThreads;
  for (uint64_t b = uint64_t{blockIdx.x} * kThreads + threadIdx.x; b < n_blocks; b += step) {
    const philox::Block known = philox::block(draw.seed, draw.known_stream, first_block + b);
    philox::Block own{};
    if (draw.has_own_times) own = philox::block(draw.seed, draw.own_stream, first_block + b);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const auto at = static_cast<int64_t>(4 * (first_block + b) + k - first);
      if (at >= 0 && at < count) tell(draw, at, philox::uniform(known.word[k]), philox::uniform(own.word[k]));
    }
  }
}

// Nothing is shown; unknown labels are left out.
__global__ void __launch_bounds__(kThreads) marks_kernel(EvidenceAt draw) {
  const int64_t count = draw.items * draw.variables;
  const int64_t step = int64_t{gridDim.x} * kThreads;
  for (int64_t at = int64_t{blockIdx.x} * kThreads + threadIdx.x; at < count; at += step)
    draw.marks[at] = draw.labels[at] < 0 ? draw.left_out : draw.unknown;
}

}  // namespace

void draw_times_cuda(const TimeBinsAt& law, const float* u, float* t, float* weight, int64_t count, void* cuda_stream) {
  if (count == 0) return;
  times_kernel<<<grid_of(count), kThreads, 0, static_cast<cudaStream_t>(cuda_stream)>>>(law, u, t, weight, count);
  cuda::check_launch("a draw of times");
}

void draw_evidence_cuda(const EvidenceAt& draw, void* cuda_stream) {
  const int64_t count = draw.items * draw.variables;
  if (count == 0) return;
  const auto stream = static_cast<cudaStream_t>(cuda_stream);
  if (draw.numbers == nullptr)
    marks_kernel<<<grid_of(count), kThreads, 0, stream>>>(draw);
  else
    evidence_kernel<<<grid_of(count / 4 + 2), kThreads, 0, stream>>>(draw);  // blocks may begin before and end after
  cuda::check_launch("a draw of evidence");
}

}  // namespace segre::kernels::detail
