#include "segre/net/unet_plan.h"

#include <gtest/gtest.h>

#include "segre/net/field.h"
#include "segre/net/net_kinds.h"
#include "segre/net/unet.h"
#include "tests/support/support.h"

namespace segre::unet_plan_test {
namespace {

// The two networks of the paper's appendix. Parameters and FLOPs are those of the public implementation with these
// settings, counted there.
const UNetOptions kMnist{32, {1, 2, 2, 2}, 2, {16}, 4};
const UNetOptions kCityscapes{64, {1, 1, 2, 3, 4}, 3, {32, 16, 8}, 4};

Space image(int64_t height, int64_t width, int64_t c) { return Space::image(height, width, c); }

TEST(UNetPlan, CountsTheParametersOfThePapersNetworks) {
  EXPECT_NEAR(static_cast<double>(cost_of(plan_unet(image(32, 32, 2), kMnist)).n_parameters), 2.25e6, 0.005e6);
  EXPECT_NEAR(static_cast<double>(cost_of(plan_unet(image(128, 256, 8), kCityscapes)).n_parameters), 30.38e6, 0.005e6);
}

TEST(UNetPlan, CountsTheFlopsOfThePapersNetworks) {
  // In GFLOP, to the digits of the reference count.
  EXPECT_NEAR(cost_of(plan_unet(image(32, 32, 2), kMnist)).training_flops / 1e9, 2.525, 0.0005);
  EXPECT_NEAR(cost_of(plan_unet(image(128, 256, 8), kCityscapes)).training_flops / 1e9, 320.74, 0.005);
}

TEST(UNetPlan, CountsWhatTheFieldHas) {
  const UNetOptions options{32, {1, 2}, 1, {8}, 4};
  const Space space = image(16, 32, 3);
  NetOptions net;
  net.kind = "unet";
  net.of<UNetOptions>() = options;
  const auto field = make_field(space, net, 1);
  EXPECT_EQ(n_parameters(*field), cost_of(plan_unet(space, options)).n_parameters);
}

TEST(UNetPlan, PutsAttentionAtTheGivenHeightsAndInTheMiddle) {
  const auto plan = plan_unet(image(32, 64, 2), {32, {1, 2, 2}, 1, {16}, 4});
  for (const auto& layer : plan.layers()) {
    if (layer.kind == UNetLayer::Kind::attention) {
      EXPECT_TRUE(layer.height == 16 || layer.name == "middle_block.1.") << layer.name;
    }
    EXPECT_EQ(layer.width, 2 * layer.height) << layer.name;
  }
}

TEST(UNetPlan, RefusesAnImageThatCannotBeHalvedOftenEnough) {
  EXPECT_EQ(test::input_error([] { plan_unet(image(28, 28, 2), kMnist); }),
            "net.channel_mult has 4 levels, which halve the image to 1/8; height and width must be multiples of 8, the "
            "data are 28x28 (the source option pad, or height and width, makes them so)");
}

TEST(UNetPlan, RefusesWhatTheNormCannotGroup) {
  EXPECT_EQ(test::input_error([] {
              plan_unet(image(32, 32, 2), {10, {1, 2}, 1, {}, 2});
            }),
            "net.channels = 10: expected a multiple of 4, the channels of a group of the normalisation");
  EXPECT_EQ(test::input_error([] {
              plan_unet(image(32, 32, 2), {32, {1, 2}, 1, {}, 5});
            }),
            "net.heads = 5 does not divide the 32 channels of a level");
}

TEST(UNetPlan, TheGroupsOfTheNormFollowTheChannels) {
  const auto groups = [](int64_t channels, std::vector<int64_t> mult) {
    return plan_unet(image(32, 32, 2), {channels, std::move(mult), 1, {}, 2}).groups;
  };
  EXPECT_EQ(groups(32, {1, 2}), 32);
  EXPECT_EQ(groups(64, {1, 1}), 32);
  EXPECT_EQ(groups(2, {16, 32}), 32);  // as before other numbers were possible
  EXPECT_EQ(groups(8, {1, 2}), 2);
  EXPECT_EQ(groups(16, {1, 2}), 4);  // 32 channels in 32 groups would not see the time
  EXPECT_EQ(groups(24, {1, 2}), 6);
}

TEST(UNetPlan, RefusesTables) {
  const auto message = test::input_error([] { plan_unet(Space::sequence(12, 2), kMnist); });
  EXPECT_NE(message.find("net.kind = \"unet\" is for images"), std::string::npos) << message;
}

TEST(UNetPlan, RefusesMoreLevelsThanAnImageCanBeHalved) {
  EXPECT_EQ(test::input_error([] {
              plan_unet(image(32, 32, 2), {32, std::vector<int64_t>(65, 1), 1, {}, 4});
            }),
            "net.channel_mult has 65 levels, expected at most 17: each halves the image");
  EXPECT_EQ(plan_unet(image(65'536, 65'536, 1), {32, std::vector<int64_t>(17, 1), 1, {}, 4}).middle[0].height, 1);
}

TEST(UNetPlan, CountsOfTheLargestNetworkDoNotOverflow) {
  const auto cost =
      cost_of(plan_unet(image(65'536, 65'536, 1), {4096, std::vector<int64_t>(17, 64), 64, {65'536, 32'768}, 1}));
  EXPECT_GT(cost.n_parameters, int64_t{1} << 40);
  EXPECT_EQ(cost.n_saved, int64_t{1} << 60) << "as many as can be";
  EXPECT_GT(cost.forward_flops, 1e22);
}

}  // namespace
}  // namespace segre::unet_plan_test
