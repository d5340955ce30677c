#pragma once

#include <cstdint>

#include "segre/core/torch.h"

namespace segre {

/// What a random number is for. Each purpose is its own stream, so drawing more of one never shifts another.
/// The values are part of the file format: runs stay reproducible only if they do not change.
enum class Purpose : uint64_t {
  initial_weights = 1,
  training_data = 2,
  training_time = 3,
  training_noise = 4,
  sampling_noise = 5,
  readout = 6,
  probe = 7,
  mirror = 8,
  source_rows = 9,
  validation_data = 10,
  validation_noise = 11,
  validation_time = 12,
  glyphs = 13,
  streets = 14,
  likelihood_time = 15,
  likelihood_noise = 16,
  diffusion_noise = 17,
  evaluation_rows = 18,
  calibration_rows = 19,
  direct_noise = 20,
  bin_values = 21,
  known_pattern = 22,
  known_cells = 23,
  own_times = 24,
  erasure = 25,
  fill_order = 26,
  dropout = 27,
  training_holes = 28,
};

/// A counter-based source of random numbers: number `index` of a stream is a pure function of
/// (seed, stream, index), the same on CPU and CUDA, for any batch size, thread count and order of calls.
struct RandomStream {
  uint64_t seed = 0;    ///< the user's seed
  uint64_t stream = 0;  ///< which sequence; see Purpose

  RandomStream() = default;
  RandomStream(uint64_t seed_in, Purpose purpose) : seed(seed_in), stream(static_cast<uint64_t>(purpose)) {}

  /// Part number k, below 2^32, of a purpose that needs several streams; part 0 is the stream itself.
  RandomStream part(int64_t k) const {
    RandomStream out = *this;
    out.stream |= static_cast<uint64_t>(k) << 32;
    return out;
  }
};

/// Fills `out` (contiguous float32 or float64, CPU or CUDA) with standard normals number first_index, first_index + 1,
/// ... float64 receives the float32 numbers. Returns out.
torch::Tensor fill_normal(torch::Tensor out, const RandomStream& random, uint64_t first_index);

/// Like fill_normal, with first_index in memory on out's device, [1] int64: a captured CUDA graph sees a new one at
/// each replay.
torch::Tensor fill_normal(torch::Tensor out, const RandomStream& random, const torch::Tensor& first_index);

/// Like fill_normal, uniform on [0, 1) in multiples of 2^-24.
torch::Tensor fill_uniform(torch::Tensor out, const RandomStream& random, uint64_t first_index);

/// The same with first_index in memory, as in fill_normal.
torch::Tensor fill_uniform(torch::Tensor out, const RandomStream& random, const torch::Tensor& first_index);

/// The finaliser of SplitMix64: every bit of the input reaches every bit of the output.
uint64_t mix_bits(uint64_t x);

/// The seed of independent round number `round` of some work; round 0 uses `seed` itself.
uint64_t round_seed(uint64_t seed, int64_t round);

/// The seed of a trial, which finds out how many rounds are needed: unlike that of any round.
uint64_t trial_seed(uint64_t seed);

/// Number `index` of the stream as a float64 uniform on [0, 1) in multiples of 2^-53 (two words of one block).
double uniform_double(const RandomStream& random, uint64_t index);

/// Device kernels behind the fill functions, for one part of a buffer; rng.cu and rng.cpp define them.
namespace detail {
enum class Draw { normal, uniform };
void fill_cpu(float* out, int64_t count, Draw draw, const RandomStream& random, uint64_t first_index);
/// `where` points to first_index in device memory instead, or is nullptr.
void fill_cuda(float* out, int64_t count, Draw draw, uint64_t seed, uint64_t stream, uint64_t first_index,
               const int64_t* where, void* cuda_stream);
}  // namespace detail

}  // namespace segre
