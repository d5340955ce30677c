#include "segre/likelihood/scores.h"

namespace segre {
namespace {

// The finaliser of SplitMix64: every bit of the input reaches every bit of the output.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

std::vector<uint64_t> item_seeds(const torch::Tensor& labels, uint64_t seed) {
  const auto rows = labels.to(torch::kCPU, torch::kInt64).contiguous();
  const int64_t n = rows.size(1);
  const auto* at = rows.data_ptr<int64_t>();
  std::vector<uint64_t> seeds(rows.size(0));
  for (uint64_t& item : seeds) {
    item = mix(seed);
    for (int64_t i = 0; i < n; ++i) item = mix(item ^ static_cast<uint64_t>(*at++));
  }
  return seeds;
}

}  // namespace segre
