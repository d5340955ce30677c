#include "segre/recipes/scaling_plan.h"

#include "tests/support/support.h"

namespace segre::scaling_plan_test {
namespace {

constexpr double kRounding = 1e-12;  // relative, of a few float64 operations

void expect_close(double found, double expected) { EXPECT_NEAR(found, expected, kRounding * std::abs(expected)); }

// Numbers that are easy to calculate with: nodes of two, a megabyte takes 1 ms in a node and 10 ms between nodes.
Machine round_machine() {
  return {.peak_flops = 1e12,
          .share = 0.5,
          .layer_seconds = 1e-3,
          .memory = 1e9,
          .memory_bandwidth = 36e9,
          .node_ranks = 2,
          .node_bandwidth = 1e9,
          .wire_bandwidth = 1e8,
          .node_latency = 1e-5,
          .wire_latency = 1e-4,
          .bucket_bytes = 1e6,
          .last_bytes = 1e6,
          .overlap = 1.0};
}

// On the above: 2 ms an item, 3 ms regardless of them, 1 ms for the optimiser, and two buckets.
StepWork round_work() {
  return {.cost = {.n_parameters = 1'000'000, .training_flops = 1e9, .n_saved = 100},
          .n_layers = 3,
          .batch = 8,
          .n_shards = 8,
          .bytes_per_number = 2,
          .path_bytes = 50};
}

StepWork billion() {
  return {.cost = {.n_parameters = 1'000'000'000, .training_flops = 3e12, .n_saved = 400'000'000},
          .n_layers = 20,
          .batch = 1024,
          .n_shards = 1024};
}

TEST(ScalingPlan, OneRankExchangesNothing) {
  for (const StepWork& work : {round_work(), billion()}) {
    const ScalingRow row = plan_scaling(work, Machine(), 1);
    EXPECT_EQ(row.items, work.batch);
    EXPECT_EQ(row.in_node, 0.0);
    EXPECT_EQ(row.between_nodes, 0.0);
    EXPECT_EQ(row.exposed, 0.0);
    EXPECT_EQ(row.step, row.compute);
    EXPECT_EQ(row.strong, 1.0);
    EXPECT_EQ(row.weak, 1.0);
  }
  expect_close(plan_scaling(round_work(), round_machine(), 1).step, 20e-3);
}

TEST(ScalingPlan, FourRanksAreWhatAHandCalculationGives) {
  const ScalingRow row = plan_scaling(round_work(), round_machine(), 4);
  EXPECT_EQ(row.items, 2);
  expect_close(row.compute, 7.25e-3);             // two items, the layers, a quarter of the optimiser's work
  expect_close(row.in_node, 2.04e-3);             // 1 ms each way, in two messages
  expect_close(row.between_nodes, 10.4e-3);       // 5 ms each way
  expect_close(row.exposed, 12.44e-3 - 3.11e-3);  // one of two buckets hides on its way there
  expect_close(row.step, 16.58e-3);
  expect_close(row.items_per_second, 8 / 16.58e-3);
  expect_close(row.strong, 20.0 / (4 * 16.58));
  expect_close(row.weak, 20.0 / 28.58);
  EXPECT_EQ(row.bound, Bound::bandwidth);
  expect_close(row.memory, 2 * 250 + 10e6);  // weights, gradients and buffers of two bytes, a quarter of sixteen
}

TEST(ScalingPlan, ARankSendsTwiceTheOthersPartOfTheBytes) {
  for (const int64_t ranks : {1, 2, 4, 8, 16, 64, 1024}) {
    const SentBytes sent = sent_bytes(billion(), Machine(), ranks);
    const auto R = static_cast<double>(ranks);
    EXPECT_NEAR(sent.in_node + sent.between_nodes, 2.0 * (R - 1.0) / R * 2e9, 1.0) << ranks;
  }
  EXPECT_EQ(sent_bytes(billion(), Machine(), 8).between_nodes, 0.0);
}

TEST(ScalingPlan, ABillionParametersAreTwoGigabytesInBfloat16) {
  StepWork work = billion();
  const SentBytes sent = sent_bytes(work, Machine(), 64);
  expect_close(sent.in_node, 2 * 7.0 / 8 * 2e9);
  expect_close(sent.between_nodes, 2 * 7.0 / 8 * 2e9 / 8);
  work.sent_bytes_per_number = 4;  // of gradients; weights travel as the network computes with them
  expect_close(sent_bytes(work, Machine(), 64).in_node, 1.5 * sent.in_node);
}

TEST(ScalingPlan, MoreRanksAreFasterAndLessEfficient) {
  Machine machine;
  machine.share = 0.35;
  ScalingRow before = plan_scaling(billion(), machine, 1);
  for (const int64_t ranks : {2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}) {
    const ScalingRow row = plan_scaling(billion(), machine, ranks);
    EXPECT_LT(row.step, before.step) << ranks;
    EXPECT_LT(row.strong, before.strong) << ranks;
    EXPECT_LE(row.weak, before.weak * 1.001) << ranks;  // each has less of the optimiser's work
    EXPECT_GE(row.weak, row.strong) << ranks;
    EXPECT_GE(row.in_node + row.between_nodes, before.in_node + before.between_nodes) << ranks;
    EXPECT_LE(row.exposed, row.in_node + row.between_nodes) << ranks;
    EXPECT_LT(row.memory, before.memory) << ranks;
    before = row;
  }
}

TEST(ScalingPlan, RanksBeyondTheShardsHaveNothingToDo) {
  StepWork work = round_work();
  const Machine machine = round_machine();
  const ScalingRow full = plan_scaling(work, machine, 8);
  EXPECT_EQ(full.items, 1);
  for (const int64_t ranks : {9, 16, 1000}) {
    const ScalingRow row = plan_scaling(work, machine, ranks);
    EXPECT_EQ(row.items, 1);
    EXPECT_EQ(row.bound, Bound::shards);
    EXPECT_LT(row.items_per_second, 1.05 * full.items_per_second);  // but for the optimiser's work
  }
  work.n_shards = 2;
  EXPECT_EQ(plan_scaling(work, machine, 4).items, 4);
}

TEST(ScalingPlan, TheRankWithTheMostItemsCounts) {
  StepWork work = round_work();
  work.batch = 10;
  work.n_shards = 10;
  EXPECT_EQ(plan_scaling(work, Machine(), 4).items, 3);
  work.n_shards = 8;
  EXPECT_EQ(plan_scaling(work, Machine(), 8).items, 2);
}

TEST(ScalingPlan, NamesWhatBoundsIt) {
  Machine machine = round_machine();
  const auto bound = [&] { return name_of(plan_scaling(round_work(), machine, 8).bound); };
  EXPECT_EQ(bound(), "bandwidth");
  machine.node_bandwidth = machine.wire_bandwidth = 1e15;
  EXPECT_EQ(bound(), "few items");
  machine.wire_latency = 1.0;
  EXPECT_EQ(bound(), "latency");
  machine.wire_latency = machine.layer_seconds = 0.0;
  EXPECT_EQ(bound(), "compute");
  machine.memory = 1e6;
  EXPECT_EQ(bound(), "memory");
}

TEST(ScalingPlan, NothingHidesWithoutOverlapOrWithOneBucket) {
  Machine machine = round_machine();
  machine.overlap = 0.0;
  ScalingRow row = plan_scaling(round_work(), machine, 4);
  expect_close(row.exposed, row.in_node + row.between_nodes);
  machine = round_machine();
  machine.last_bytes = 1e9;
  row = plan_scaling(round_work(), machine, 4);
  expect_close(row.exposed, row.in_node + row.between_nodes);
}

TEST(ScalingPlan, AStepOfAnExperimentIsDividedIntoItsItems) {
  Experiment e;
  e.net.kind = "transformer";
  e.train.batch = 48;
  const Space space = test::mixed_space();
  const NetOutline outline = outline_of(e, space);
  const StepWork work = step_work(e, space, outline);
  EXPECT_EQ(work.n_shards, 48);
  EXPECT_EQ(work.batch, 48);
  EXPECT_EQ(work.n_layers, 6);  // tokens, four layers, labels
  EXPECT_EQ(work.bytes_per_number, 2.0);
  EXPECT_EQ(work.path_bytes, 10 * 4 * 20);
  EXPECT_EQ(work.cost.n_parameters, outline.cost.n_parameters);
  e.net.precision = NetPrecision::float32;
  EXPECT_EQ(step_work(e, space, outline).bytes_per_number, 4.0);
}

}  // namespace
}  // namespace segre::scaling_plan_test
