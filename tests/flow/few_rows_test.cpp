// A few rows have the bits that they have in a whole block, whatever the network.

#include "segre/flow/few_rows.h"

#include <mutex>
#include <set>

#include "segre/flow/row_blocks.h"
#include "segre/flow/sampler.h"
#include "segre/model/joint_oracle.h"
#include "segre/net/mlp.h"
#include "segre/net/residual.h"
#include "segre/net/unet.h"
#include "segre/path/e_geodesic.h"
#include "tests/support/reference.h"
#include "tests/support/samplers.h"
#include "tests/support/threads.h"

namespace segre::few_rows_test {
namespace {

// A model with weights that are nowhere zero, as after training.
Model model_of(const std::string& kind, const Space& space) {
  NetOptions options;
  options.kind = kind == "residual on a tree" ? "residual" : kind;
  options.of<MlpOptions>().hidden = {96, 96};
  options.of<ResidualOptions>() = {.blocks = 2, .width = 96, .tree = kind == "residual on a tree"};
  options.of<UNetOptions>().channels = 8;
  auto field = make_field(space, options, 1);
  uint64_t seed = 1;
  for (const auto& [name, parameter] : field->parameters()) {
    const torch::NoGradGuard no_grad;
    parameter.add_(test::noise(parameter.sizes(), ++seed, torch::kFloat32), 0.05);
  }
  return {space, make_e_geodesic(0.01), Form::evidence, std::move(field)};
}

// An odd number of coordinates: rows begin anywhere in a vector register.
Space table() { return test::space_of({2, 3, 5, 7, 2, 3, 9, 2, 4}); }

torch::Tensor half_known(const Space& space, int64_t count) {
  auto labels = test::some_labels(space, count, 3);
  return labels.masked_fill_(test::noise(labels.sizes(), 4) < 0.0, kUnknown);
}

void expect_same_bits(const std::string& name, const Sampler& sampler) {
  const int64_t rows = sampler.rows_per_block();
  const auto whole = sampler.draw(0, 2 * rows).labels;
  const torch::Tensor labels = half_known(sampler.space(), rows);
  const auto completed = sampler.complete({.labels = labels}, 0, 1).labels;
  const auto probabilities = sampler.probabilities({.labels = labels}, 0);
  for (const auto& [first, count] : {std::pair<int64_t, int64_t>{0, 1}, {rows / 3, 2}, {rows - 1, 1}, {5, 1}}) {
    const auto number = static_cast<uint64_t>(first);
    EXPECT_TRUE(torch::equal(sampler.draw(number, count).labels, whole.slice(0, first, first + count))) << name;
    const Known known{.labels = labels.slice(0, first, first + count)};
    EXPECT_TRUE(torch::equal(sampler.complete(known, number, 1).labels, completed.slice(0, first, first + count)))
        << name;
    EXPECT_TRUE(torch::equal(sampler.probabilities(known, number), probabilities.slice(0, first, first + count)))
        << name;
  }
  // Across the border of two blocks.
  const auto border = static_cast<uint64_t>(rows) - 1;
  EXPECT_TRUE(torch::equal(sampler.draw(border, 3).labels, whole.slice(0, rows - 1, rows + 2))) << name;
}

TEST(FewRows, OfATableHaveTheBitsOfABlockForEveryNetwork) {
  for (const char* kind : {"linear", "mlp", "latent_class", "tree", "residual", "residual on a tree", "transformer"}) {
    const Model model = model_of(kind, table());
    expect_same_bits(kind, {model, {.steps = 2}, 7});
    expect_same_bits(kind, {model, {.sampler = "erasure", .steps = 3}, 7});
    expect_same_bits(kind, {model, {.sampler = "sde", .steps = 3, .readout = Readout::matched}, 7});
  }
}

TEST(FewRows, OfImagesHaveTheBitsOfABlock) {
  const Sampler sampler(model_of("unet", Space::image(16, 16, 2)), {.steps = 1}, 7);
  expect_same_bits("unet", sampler);
}

TEST(FewRows, ForEverySampler) {
  const Model model = model_of("mlp", table());
  for (const std::string& name : test::sampler_names()) expect_same_bits(name, {model, {.sampler = name}, 7});
}

// A flow that remembers how many rows its functions were given.
struct Counted {
  explicit Counted(const std::function<double(int64_t rows)>& factor = [](int64_t) { return 1.0; }) {
    const auto counted = [this, factor](const StateFunction& function) -> StateFunction {
      return [this, factor, function](const State& state) {
        const std::lock_guard lock(mutex);
        seen.insert(state.v.size(0));
        return function(state) * factor(state.v.size(0));
      };
    };
    flow.endpoint = counted(flow.endpoint);
    flow.velocity = counted(flow.velocity);
    flow.log_marginals = counted(flow.log_marginals);
    flow.few_rows = std::make_shared<FewRows>();  // an oracle's own flow has whole blocks alone
  }

  Flow flow = flow_of(JointOracle(test::random_joint(test::mixed_space(), 3), make_e_geodesic(0.01)));
  std::mutex mutex;
  std::set<int64_t> seen;
};

TEST(FewRows, ASmallRequestCostsFewRows) {
  Counted counted;
  const Sampler sampler(counted.flow, {}, 7);
  const Known known{.labels = torch::full({1, 5}, kUnknown, torch::kInt64)};
  const auto ask = [&] {
    sampler.draw(3, 1);
    sampler.complete(known, 3, 0);
    sampler.completions(known, 3, 0, 2);
    sampler.probabilities(known, 3);
  };
  ask();  // finds out
  counted.seen.clear();
  ask();
  const int64_t rows = sampler.rows_per_block();
  EXPECT_EQ(counted.seen, std::set<int64_t>{rows / 64});
  counted.seen.clear();
  sampler.draw(0, rows / 2);
  EXPECT_EQ(counted.seen, std::set<int64_t>{rows}) << "half of a block costs less in a block";
}

// The draws of few items share rows, too.
TEST(FewRows, CompletionsOfFewItemsAreThoseOfOneDrawAfterAnother) {
  const Counted counted;
  const Sampler sampler(counted.flow, {.readout = Readout::matched}, 7);
  const Known known{.labels = half_known(counted.flow.space, 3)};
  const auto together = sampler.completions(known, 5, 1, 4);
  for (int64_t k = 0; k < 4; ++k)
    EXPECT_TRUE(torch::equal(together.select(1, k), sampler.complete(known, 5, 1 + k).labels)) << k;
}

TEST(FewRows, WhereTheyRoundDifferentlyBlocksAreWhole) {
  const Counted same;
  const int64_t rows = rows_per_block(same.flow);
  Counted differs([rows](int64_t here) { return here < rows ? 1.0 + 1e-15 : 1.0; });
  const Sampler sampler(differs.flow, {}, 7);
  const auto one = sampler.draw(3, 1).labels;
  differs.seen.clear();
  EXPECT_TRUE(torch::equal(sampler.draw(3, 1).labels, one));
  EXPECT_EQ(differs.seen, std::set<int64_t>{rows});
  EXPECT_TRUE(torch::equal(one, Sampler(same.flow, {}, 7).draw(0, rows).labels.slice(0, 3, 4)));
}

TEST(FewRows, AreTriedOnceForAllSamplersOfAFlow) {
  Counted counted;
  Sampler(counted.flow, {}, 7).draw(0, 1);
  counted.seen.clear();
  Sampler(counted.flow, {}, 8).draw(0, 1);
  EXPECT_EQ(counted.seen, std::set<int64_t>{rows_per_block(counted.flow) / 64});
}

}  // namespace
}  // namespace segre::few_rows_test
