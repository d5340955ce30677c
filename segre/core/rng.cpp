#include "segre/core/rng.h"

#include <algorithm>
#include <array>
#include <limits>

#include "segre/core/error.h"
#include "segre/core/launch.h"
#include "segre/core/parallel.h"
#include "segre/core/philox.h"
#include "segre/core/simd.h"

namespace segre {
namespace {

constexpr int64_t kLanes = 16;                  // blocks computed side by side: one AVX-512 register of words
constexpr int64_t kNumbersPerRow = 4 * kLanes;  // a block gives four numbers
using Lanes = std::array<uint32_t, kLanes>;

// philox::block for kLanes consecutive counters, the lane loop innermost so that it vectorises.
[[gnu::always_inline]] inline void philox_lanes(const RandomStream& random, uint64_t first_block, Lanes& c0, Lanes& c1,
                                                Lanes& c2, Lanes& c3) {
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    const uint64_t counter = first_block + static_cast<uint64_t>(lane);
    c0[lane] = static_cast<uint32_t>(counter);
    c1[lane] = static_cast<uint32_t>(counter >> 32);
    c2[lane] = static_cast<uint32_t>(random.stream);
    c3[lane] = static_cast<uint32_t>(random.stream >> 32);
  }
  auto k0 = static_cast<uint32_t>(random.seed);
  auto k1 = static_cast<uint32_t>(random.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    // High and low halves by separate products: the compiler vectorises each, but not their shared 64-bit form.
    Lanes high0, high2;
    for (int64_t lane = 0; lane < kLanes; ++lane) high0[lane] = philox::high_word(philox::kMultiplier0, c0[lane]);
    for (int64_t lane = 0; lane < kLanes; ++lane) high2[lane] = philox::high_word(philox::kMultiplier2, c2[lane]);
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const uint32_t low0 = philox::kMultiplier0 * c0[lane];
      const uint32_t low2 = philox::kMultiplier2 * c2[lane];
      c0[lane] = high2[lane] ^ c1[lane] ^ k0;
      c2[lane] = high0[lane] ^ c3[lane] ^ k1;
      c1[lane] = low2;
      c3[lane] = low0;
    }
    k0 += philox::kWeyl0;
    k1 += philox::kWeyl1;
  }
}

// Numbers 4*first_block ... of the stream, kNumbersPerRow of them.
SEGRE_MULTIVERSION
void normal_row(float* out, RandomStream random, uint64_t first_block) {
  Lanes c0, c1, c2, c3;
  philox_lanes(random, first_block, c0, c1, c2, c3);
  std::array<std::array<float, kLanes>, 4> z;
  for (int64_t lane = 0; lane < kLanes; ++lane) philox::normal_pair(c0[lane], c1[lane], z[0][lane], z[1][lane]);
  for (int64_t lane = 0; lane < kLanes; ++lane) philox::normal_pair(c2[lane], c3[lane], z[2][lane], z[3][lane]);
  for (int64_t lane = 0; lane < kLanes; ++lane)
    for (int64_t word = 0; word < 4; ++word) out[4 * lane + word] = z[word][lane];
}

SEGRE_MULTIVERSION
void uniform_row(float* out, RandomStream random, uint64_t first_block) {
  Lanes c0, c1, c2, c3;
  philox_lanes(random, first_block, c0, c1, c2, c3);
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    out[4 * lane] = philox::uniform(c0[lane]);
    out[4 * lane + 1] = philox::uniform(c1[lane]);
    out[4 * lane + 2] = philox::uniform(c2[lane]);
    out[4 * lane + 3] = philox::uniform(c3[lane]);
  }
}

torch::Tensor fill(torch::Tensor out, detail::Draw draw, const RandomStream& random, uint64_t first_index) {
  if (!out.is_contiguous()) fail("random numbers need a contiguous tensor");
  if (out.scalar_type() == torch::kFloat64) {
    auto single = torch::empty(out.sizes(), out.options().dtype(torch::kFloat32));
    return out.copy_(fill(single, draw, random, first_index));
  }
  if (out.scalar_type() != torch::kFloat32) fail("random numbers need a float32 or float64 tensor");
  auto* data = out.data_ptr<float>();
  if (out.is_cuda()) {
#ifdef SEGRE_CUDA
    detail::fill_cuda(data, out.numel(), draw, random.seed, random.stream, first_index, nullptr,
                      LaunchOn(out.device()));
#else
    fail("this build of segre has no CUDA");
#endif
    return out;
  }
  constexpr int64_t kGrain = 1 << 14;
  parallel_for(0, out.numel(), kGrain, [&](int64_t begin, int64_t end) {
    detail::fill_cpu(data + begin, end - begin, draw, random, first_index + static_cast<uint64_t>(begin));
  });
  return out;
}

// The index of the first number is in memory on out's device.
torch::Tensor fill(torch::Tensor out, detail::Draw draw, const RandomStream& random, const torch::Tensor& first_index) {
#ifdef SEGRE_CUDA
  if (out.is_cuda() && out.scalar_type() == torch::kFloat32) {
    detail::fill_cuda(out.data_ptr<float>(), out.numel(), draw, random.seed, random.stream, 0,
                      first_index.data_ptr<int64_t>(), LaunchOn(out.device()));
    return out;
  }
#endif
  if (out.is_cuda()) fail("random numbers from an index in device memory need a float32 tensor");
  return fill(std::move(out), draw, random, static_cast<uint64_t>(first_index.item<int64_t>()));
}

}  // namespace

namespace detail {

void fill_cpu(float* out, int64_t count, Draw draw, const RandomStream& random, uint64_t first_index) {
  const auto row = draw == Draw::normal ? normal_row : uniform_row;
  std::array<float, kNumbersPerRow> buffer;
  for (int64_t done = 0; done < count;) {
    const uint64_t index = first_index + static_cast<uint64_t>(done);
    const auto skip = static_cast<int64_t>(index % 4);
    if (skip == 0 && count - done >= kNumbersPerRow) {
      row(out + done, random, index / 4);
      done += kNumbersPerRow;
      continue;
    }
    const int64_t take = std::min(kNumbersPerRow - skip, count - done);
    row(buffer.data(), random, index / 4);
    std::copy_n(buffer.data() + skip, take, out + done);
    done += take;
  }
}

}  // namespace detail

torch::Tensor fill_normal(torch::Tensor out, const RandomStream& random, uint64_t first_index) {
  return fill(std::move(out), detail::Draw::normal, random, first_index);
}

torch::Tensor fill_normal(torch::Tensor out, const RandomStream& random, const torch::Tensor& first_index) {
  return fill(std::move(out), detail::Draw::normal, random, first_index);
}

torch::Tensor fill_uniform(torch::Tensor out, const RandomStream& random, uint64_t first_index) {
  return fill(std::move(out), detail::Draw::uniform, random, first_index);
}

torch::Tensor fill_uniform(torch::Tensor out, const RandomStream& random, const torch::Tensor& first_index) {
  return fill(std::move(out), detail::Draw::uniform, random, first_index);
}

uint64_t mix_bits(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

uint64_t round_seed(uint64_t seed, int64_t round) {
  return round == 0 ? seed : mix_bits(seed ^ mix_bits(static_cast<uint64_t>(round)));
}

uint64_t trial_seed(uint64_t seed) { return round_seed(seed, std::numeric_limits<int64_t>::min()); }

double uniform_double(const RandomStream& random, uint64_t index) {
  const philox::Block block = philox::block(random.seed, random.stream, index);
  const uint64_t bits = (uint64_t{block.word[0]} << 21) ^ (block.word[1] >> 11);
  return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace segre
