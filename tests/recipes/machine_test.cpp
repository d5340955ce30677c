#include "segre/recipes/machine.h"

#include "segre/net/transformer.h"
#include "segre/net/unet.h"
#include "segre/recipes/scaling_plan.h"
#include "tests/support/reference.h"

namespace segre::machine_test {
namespace {

// The networks of measured_speeds(), in its order.
std::vector<NetOutline> measured_networks() {
  NetOptions mnist;
  mnist.kind = "unet";
  mnist.of<UNetOptions>() = {32, {1, 2, 2, 2}, 2, {16}, 4};
  NetOptions cityscapes;
  cityscapes.kind = "unet";
  cityscapes.of<UNetOptions>() = {64, {1, 1, 2, 3, 4}, 3, {32, 16, 8}, 4};
  NetOptions transformer;
  transformer.kind = "transformer";
  transformer.of<TransformerOptions>() = {.layers = 6, .width = 384, .heads = 6};
  return {outline_net(Space::image(32, 32, 2), mnist),
          outline_net(Space::image(128, 256, 8), cityscapes),
          outline_net(test::space_of(std::vector<int64_t>(256, 2)), transformer)};
}

TEST(Machine, TheMeasuredNetworksAreAsLargeAsItSays) {
  const auto networks = measured_networks();
  const auto& speeds = measured_speeds();
  ASSERT_EQ(networks.size(), speeds.size());
  for (size_t k = 0; k < speeds.size(); ++k) {
    const NetCost& cost = networks[k].cost;
    EXPECT_NEAR(speeds[k].n_parameters / static_cast<double>(cost.n_parameters), 1.0, 0.005) << speeds[k].network;
    EXPECT_NEAR(speeds[k].training_flops / cost.training_flops, 1.0, 0.001) << speeds[k].network;
    EXPECT_EQ(speeds[k].n_layers, static_cast<int64_t>(networks[k].layers.size())) << speeds[k].network;
  }
}

TEST(Machine, ThePlanForOneGpuIsTheSpeedThatWasMeasured) {
  const auto networks = measured_networks();
  for (size_t k = 0; k < networks.size(); ++k) {
    const MeasuredSpeed& speed = measured_speeds()[k];
    Machine machine;
    machine.share = measured_share(speed);
    const StepWork work{.cost = networks[k].cost,
                        .n_layers = static_cast<int64_t>(networks[k].layers.size()),
                        .batch = speed.batch,
                        .n_shards = speed.batch};
    const ScalingRow row = plan_scaling(work, machine, 1);
    EXPECT_NEAR(row.items_per_second / speed.items_per_second, 1.0, 0.002) << speed.network;
    EXPECT_LT(row.memory, machine.memory);
  }
}

// Not used to choose the share: batches of 128 and 512 at revision 49696d2, whose speed at 256 was 25,640.
TEST(Machine, ThePlanKnowsWhatOtherBatchesCost) {
  Machine machine;
  machine.share = measured_share(measured_speeds()[0]);
  const NetOutline network = measured_networks()[0];
  const auto speed = [&](int64_t batch) {
    const StepWork work{.cost = network.cost, .n_layers = 35, .batch = batch, .n_shards = batch};
    return plan_scaling(work, machine, 1).items_per_second;
  };
  EXPECT_NEAR(speed(128) / 19'470, 1.0, 0.02);
  EXPECT_NEAR(speed(512) / 30'080, 1.0, 0.02);
}

TEST(Machine, TheShareIsThatOfTheMostSimilarNetwork) {
  EXPECT_EQ(nearest_speed("unet", 5e9).network, "UNet of 32x32 images");
  EXPECT_EQ(nearest_speed("unet", 1e12).network, "UNet of 128x256 label maps");
  EXPECT_EQ(nearest_speed("transformer", 3e12).network, "transformer of 11.3 million weights");
  EXPECT_EQ(nearest_speed("mlp", 1e6).network, "UNet of 32x32 images") << "the slowest";
  EXPECT_EQ(share_source("unet", 5e9),
            "as measured on one H200: UNet of 32x32 images, batch 256, 25723 items/s (docs/results.md)");
  EXPECT_TRUE(share_source("mlp", 1e6).starts_with("not measured for this kind of network; the lowest that was on "));
}

TEST(Machine, NetworksOfFloat32HaveAnotherPeak) {
  NetOptions options;
  options.kind = "unet";
  EXPECT_EQ(machine_for(options, {.training_flops = 1e9}).peak_flops, 989e12);
  options.precision = NetPrecision::float32;
  EXPECT_EQ(machine_for(options, {.training_flops = 1e9}).peak_flops, kFloat32Flops);
}

TEST(Machine, EveryAssumptionIsAKey) {
  Machine machine;
  ConfigSchema schema;
  declare_machine_keys(schema, machine);
  schema.set("wire_bandwidth=25e9", "--assume");
  schema.set("overlap=0.5", "--assume");
  EXPECT_EQ(machine.wire_bandwidth, 25e9);
  EXPECT_EQ(machine.overlap, 0.5);
  EXPECT_EQ(test::input_error([&] { schema.set("wire_bandwith=1", "--assume"); }),
            "--assume: unknown key wire_bandwith; the nearest known key is wire_bandwidth");
  EXPECT_EQ(test::input_error([&] { schema.set("share=2", "--assume"); }),
            "--assume: share = 2: expected a number from 1e-06 to 1");
}

}  // namespace
}  // namespace segre::machine_test
