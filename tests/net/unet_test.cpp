#include "segre/net/unet.h"
#include "segre/net/net_kinds.h"

#include "tests/support/support.h"
#include "tests/support/threads.h"

// What the comparison with another implementation (unet_golden_test.cpp) does not cover.

namespace segre::unet_test {
namespace {

using test::max_difference;
using test::noise;

const Space kSpace = Space::image(8, 8, 3);

// 64 channels: in groups of one channel a norm would remove all that time adds.
UNetOptions small() {
  UNetOptions options;
  options.channels = 64;
  options.channel_mult = {1, 1};
  options.res_blocks = 1;
  options.attention_at = {4};
  return options;
}

// The last convolutions of blocks start at 0 and would let nothing through.
std::shared_ptr<UNetField> lively(uint64_t seed = 1) {
  auto field = std::make_shared<UNetField>(kSpace, small(), seed);
  const torch::NoGradGuard no_grad;
  for (const auto& [name, parameter] : field->parameters())
    parameter.add_(noise(parameter.sizes(), ++seed, torch::kFloat32), 0.05);
  return field;
}

torch::Tensor some_points(int64_t count) { return noise({count, kSpace.n_coordinates()}, 2, torch::kFloat32).abs(); }

TEST(UNet, WeightsDependOnTheSeedAlone) {
  const UNetField one(kSpace, small(), 1);
  const UNetField same(kSpace, small(), 1);
  const UNetField other(kSpace, small(), 2);
  size_t changed = 0;
  for (size_t k = 0; k < one.parameters().size(); ++k) {
    EXPECT_TRUE(torch::equal(one.parameters()[k].second, same.parameters()[k].second));
    changed += torch::equal(one.parameters()[k].second, other.parameters()[k].second) ? 0 : 1;
  }
  EXPECT_GT(changed, one.parameters().size() / 3);  // norms and the last convolutions of blocks start as constants
}

TEST(UNet, StartsAtZero) {
  UNetField field(kSpace, small(), 1);
  EXPECT_EQ(field.forward({some_points(2), torch::full({2}, 0.3)}).abs().max().item<double>(), 0.0);
}

TEST(UNet, TimeMatters) {
  const auto field = lively();
  const auto W = some_points(2);
  const auto early = field->forward({W, torch::full({2}, 0.1)});
  EXPECT_GT(max_difference(early, field->forward({W, torch::full({2}, 0.2)})), 1e-3);
  EXPECT_GT(early.abs().max().item<double>(), 1e-2);
}

// A product of a different shape may add in a different order: twenty layers of float32 roundings, 6e-8 each, that add
// up like a random walk and are amplified a little on the way.
constexpr double kRounding = 5e-6;

// What rounding changes, relative to the output.
double relative_difference(const torch::Tensor& x, const torch::Tensor& y) {
  return max_difference(x, y) / x.abs().max().item<double>();
}

TEST(UNet, OneTimeServesTheWholeBatch) {
  const auto field = lively();
  const auto W = some_points(3);
  EXPECT_LT(relative_difference(field->forward({W, torch::full({1}, 0.3)}), field->forward({W, torch::full({3}, 0.3)})),
            kRounding);
}

TEST(UNet, AnItemDoesNotSeeTheOthers) {
  const auto field = lively();
  const auto W = some_points(5);
  const auto t = torch::linspace(0.1, 0.9, 5);
  const auto together = field->forward({W, t});
  for (int64_t k = 0; k < 5; ++k) {
    const auto alone = field->forward({W.slice(0, k, k + 1), t.slice(0, k, k + 1)});
    EXPECT_LT(relative_difference(together.slice(0, k, k + 1), alone), kRounding) << k;
  }
}

TEST(UNet, ShardsAreAsLargeAsMemoryCloseByAllows) {
  int64_t before = 257;
  for (const int64_t side : {8, 32, 64, 256, 1024}) {
    UNetOptions options = small();
    options.attention_at = {};
    const UNetField field(Space::image(side, side, 3), options, 1);
    EXPECT_GE(field.shard_rows(), 1) << side;
    EXPECT_LE(field.shard_rows(), 256) << side;
    EXPECT_LE(field.shard_rows(), before) << side;
    before = field.shard_rows();
  }
  EXPECT_EQ(before, 1);  // the largest image does not fit
}

TEST(UNet, CountsItsParameters) {
  const UNetField field(kSpace, small(), 1);
  EXPECT_EQ(field.cost().n_parameters, n_parameters(field));
}

TEST(UNet, OnlyConvolutionsAndAttentionBecomeShorter) {
  UNetField field(kSpace, small(), 1);
  field.reduce_precision(torch::kBFloat16);
  for (const auto& [name, parameter] : field.parameters())
    EXPECT_EQ(parameter.scalar_type() == torch::kBFloat16, parameter.dim() > 2)
        << name;  // the rest: biases, norms, time
}

}  // namespace
}  // namespace segre::unet_test
