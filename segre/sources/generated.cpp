#include "segre/sources/generated.h"

#include <vector>

#include "segre/core/error.h"
#include "segre/core/memory.h"
#include "segre/core/parallel.h"

namespace segre {
namespace {

class GeneratedSource final : public DataSource {
 public:
  GeneratedSource(Space space, Purpose purpose, uint64_t seed, DrawItem draw)
      : space_(std::move(space)), purpose_(purpose), seed_(seed), draw_(std::move(draw)) {}

  const Space& space() const override { return space_; }
  int64_t n_items() const override { return 0; }

  torch::Tensor rows(int64_t first, int64_t count) const override {
    return generate({seed_, purpose_}, static_cast<uint64_t>(first), count);
  }

  torch::Tensor items(const RandomStream& random, uint64_t first_item, int64_t count) const override {
    // Each seed of the source gives another endless sequence; 0, the default, leaves the stream's seed unchanged.
    RandomStream own(random.seed + 0x9E3779B97F4A7C15u * seed_, purpose_);
    own.stream |= random.stream << 32;  // training and validation with the same seed see different items
    return generate(own, first_item, count);
  }

 private:
  torch::Tensor generate(const RandomStream& random, uint64_t first, int64_t count) const {
    const int64_t n = space_.n_variables();
    require_memory(8.0 * static_cast<double>(count) * static_cast<double>(n),
                   concat(count, " items of the ", space_.describe()), torch::kCPU);
    auto labels = torch::empty({count, n}, torch::kInt64);
    auto* out = labels.data_ptr<int64_t>();
    parallel_for(0, count, /*grain_size=*/16, [&](int64_t begin, int64_t end) {
      std::vector<uint8_t> item(static_cast<size_t>(n));
      for (int64_t k = begin; k < end; ++k) {
        draw_(ItemRandom(random, first + static_cast<uint64_t>(k)), item.data());
        std::copy(item.begin(), item.end(), out + k * n);
      }
    });
    return labels;
  }

  Space space_;
  Purpose purpose_;
  uint64_t seed_;
  DrawItem draw_;
};

}  // namespace

std::unique_ptr<DataSource> make_generated_source(Space space, Purpose purpose, uint64_t seed, DrawItem draw) {
  if (label_type(space) != torch::kUInt8)
    fail_input("generated items have at most 256 labels, this is a ", space.describe());
  return std::make_unique<GeneratedSource>(std::move(space), purpose, seed, std::move(draw));
}

}  // namespace segre
