// Outlines say of a network what the network itself says once it exists.

#include "segre/net/mlp.h"
#include "segre/net/transformer.h"
#include "segre/net/unet.h"
#include "tests/support/support.h"

namespace segre::outline_test {
namespace {

void expect_like_the_field(const Space& space, const NetOptions& options) {
  SCOPED_TRACE(options.kind + " of a " + space.describe());
  const auto field = make_field(space, options, 1);
  const NetOutline outline = outline_net(space, options);
  const NetCost cost = field->cost();
  EXPECT_EQ(outline.cost.n_parameters, n_parameters(*field));
  EXPECT_EQ(outline.cost.forward_flops, cost.forward_flops);
  EXPECT_EQ(outline.cost.training_flops, cost.training_flops);
  EXPECT_EQ(outline.cost.n_saved, field->n_activations());
  EXPECT_EQ(outline.layers, field->layers());
  EXPECT_EQ(outline.couples_items, field->couples_items());
}

TEST(Outline, OfATransformerIsTheFields) {
  NetOptions options;
  options.kind = "transformer";
  options.of<TransformerOptions>() = {.layers = 2, .width = 16, .heads = 2};
  for (const Space& space : {test::mixed_space(), test::binary_space(9), Space::image(4, 4, 3),
                             Space::sequence(6, 3), Space::sequence(3, 300)})
    expect_like_the_field(space, options);
}

TEST(Outline, OfAUNetIsTheFields) {
  NetOptions options;
  options.kind = "unet";
  options.of<UNetOptions>() = {32, {1, 2}, 1, {8}, 4};
  expect_like_the_field(Space::image(16, 32, 3), options);
}

TEST(Outline, OfOtherNetworksIsTakenFromTheField) {
  NetOptions options;
  options.kind = "mlp";
  options.of<MlpOptions>().hidden = {8, 4};
  expect_like_the_field(test::mixed_space(), options);
  options.of<MlpOptions>().batch_norm = true;
  expect_like_the_field(test::mixed_space(), options);
  EXPECT_TRUE(outline_net(test::mixed_space(), options).couples_items);
}

TEST(Outline, NeedsNoMemoryForTheWeights) {
  NetOptions options;
  options.kind = "transformer";
  options.of<TransformerOptions>() = {.layers = 256, .width = 2048, .heads = 16};
  const NetOutline outline = outline_net(Space::sequence(4096, 50'000), options);
  EXPECT_GT(outline.cost.n_parameters, 10'000'000'000);  // 40 GB
  EXPECT_EQ(outline.layers.size(), 258u);
}

TEST(Outline, RefusesWhatTheNetworkRefuses) {
  NetOptions options;
  options.kind = "transformer";
  options.of<TransformerOptions>() = {.layers = 1, .width = 12, .heads = 2};
  EXPECT_EQ(test::input_error([&] { outline_net(test::mixed_space(), options); }),
            "net.width = 12, net.token_heads = 2: the width must be a multiple of 8 and of twice the heads");
}

}  // namespace
}  // namespace segre::outline_test
