// Which numbers decide how training fills holes.

#include <cmath>
#include <mutex>
#include <set>

#include "segre/net/latent_class.h"
#include "segre/path/e_geodesic.h"
#include "segre/train/holes.h"
#include "segre/train/trainer.h"
#include "tests/support/reference.h"
#include "tests/support/statistics.h"
#include "tests/support/threads.h"

namespace segre::hole_draws_test {
namespace {

using test::kSigmas;

constexpr int64_t kRows = 40'000;

// A mixture of two products, and its distribution.
struct Mixture {
  Space space = test::space_of({2, 3, 2});
  torch::Tensor shares = torch::tensor({0.7f, 0.3f});
  torch::Tensor labels =
      torch::tensor({{0.9f, 0.1f, 0.1f, 0.2f, 0.7f, 0.8f, 0.2f}, {0.2f, 0.8f, 0.6f, 0.3f, 0.1f, 0.1f, 0.9f}});

  Model model() const {
    NetOptions options;
    options.kind = "latent_class";
    options.of<LatentClassOptions>().classes = 2;
    const auto field = make_field(space, options, 1);
    const torch::NoGradGuard no_grad;
    test::named(field->parameters(), "class_logits").copy_(shares.log());
    test::named(field->parameters(), "label_logits").copy_(labels.log());
    return {space, make_e_geodesic(0.01), Form::evidence, field};
  }
  JointTable joint() const {
    const auto labelings = enumerate_labelings(space);
    auto p = shares.to(torch::kFloat64).unsqueeze(1).expand({2, labelings.size(0)}).clone();
    for (int64_t i = 0; i < 3; ++i)
      p *= labels.to(torch::kFloat64).index_select(1, labelings.select(1, i) + space.offset(i));
    return make_joint_table(space, labelings, p.sum(0));
  }
};

// Rows of which nothing is known are drawn from the model: one hole after another, each given those before. The other
// half of the rows lose their labels again, like the row before them.
TEST(TrainingHoles, AreDrawnFromTheModelsJoint) {
  const Mixture mixture;
  const TrainingHoles holes(mixture.model(), 3);
  const auto filled = holes(torch::full({kRows, 3}, kUnknown, torch::kInt64), torch::zeros({1}, torch::kInt64));
  const auto whole = filled.index({(filled != kUnknown).all(1)});
  EXPECT_NEAR(static_cast<double>(whole.size(0)), 0.5 * kRows, kSigmas * std::sqrt(0.25 * kRows));
  EXPECT_LT(std::abs(test::chi_square_sigmas(mixture.joint(), whole)), kSigmas);
}

// Rows without holes get those of the row before, and only these rows lose anything.
TEST(TrainingHoles, AreThoseOfTheItemBefore) {
  const Mixture mixture;
  const TrainingHoles holes(mixture.model(), 3);
  auto labels = torch::zeros({200, 3}, torch::kInt64);
  for (int64_t row = 0; row < 200; row += 4) labels[row][row / 4 % 3] = kUnknown;
  const auto filled = holes(labels, torch::zeros({1}, torch::kInt64));
  const auto may_lose = (labels == kUnknown).roll(1, 0);
  EXPECT_FALSE((filled == kUnknown).logical_and(may_lose.logical_not()).any().item<bool>());
  // 25 of 50 coins are expected.
  const auto lost = (filled == kUnknown).sum().item<double>();
  EXPECT_NEAR(lost, 25.0, kSigmas * std::sqrt(50 * 0.25));
}

// Says nothing about any label, and remembers which it was told.
class Listener final : public Field {
 public:
  explicit Listener(const Space& space) : output_(add_parameter("output", torch::zeros({space.n_coordinates()}))) {}
  torch::Tensor forward(const FieldInput& input) override {
    if (input.known.defined()) {
      const std::lock_guard lock(mutex_);
      told.push_back(input.known.clone());
    }
    return output_.expand_as(input.W).to(input.W.scalar_type());
  }
  int64_t n_activations() const override { return 1; }
  std::vector<torch::Tensor> told;

 private:
  torch::Tensor output_;
  std::mutex mutex_;
};

// One, two more, and then the rest: of five coins with these odds in nats, the fairest ones first.
TEST(TrainingHoles, TheMostUncertainAreDrawnFirst) {
  const Space space = test::binary_space(5);
  const auto field = std::make_shared<Listener>(space);
  const auto odds = torch::tensor({3.0F, 0.5F, 4.0F, 1.0F, 2.0F});
  {
    const torch::NoGradGuard no_grad;
    test::named(field->parameters(), "output").view({5, 2}).select(1, 1).copy_(odds);
  }
  const TrainingHoles holes(Model(space, make_e_geodesic(0.01), Form::evidence, field), 3);
  holes(torch::full({1, 5}, kUnknown, torch::kInt64), torch::zeros({1}, torch::kInt64));
  std::vector<std::vector<int64_t>> drawn;
  for (const auto& told : field->told) drawn.push_back(test::labels_of((told[0] >= 0).nonzero().flatten()));
  EXPECT_EQ(drawn, (std::vector<std::vector<int64_t>>{{}, {1}, {1, 3, 4}}));
}

// 16 items of 40 holes each in four shards. Before the last of three steps the network is told three of their labels,
// which out of 1000 each are never the same in two items by chance.
TEST(TrainingHoles, EveryItemOfABatchHasItsOwnNumbers) {
  const test::Threads one_thread(1);
  const Space space = Space::sequence(40, 1000);
  const auto field = std::make_shared<Listener>(space);
  const Model model(space, make_e_geodesic(0.01), Form::evidence, field);
  const auto source = make_dataset_source(
      {.space = space, .labels = torch::full({16, 40}, kUnknown, torch::kInt64), .unknowns = Unknowns::allow});
  TrainOptions options;
  options.steps = 1;
  options.batch = 16;
  options.shards = 4;
  options.evidence = {.kind = EvidenceKind::known, .known = 0.0};  // nothing but what filling tells
  Trainer trainer(model, *source, options, 1);
  trainer.step();
  std::set<std::vector<int64_t>> different;
  int64_t count = 0;
  for (const auto& told : field->told)
    for (int64_t row = 0; row < told.size(0); ++row) {
      if ((told[row] >= 0).sum().item<int64_t>() != 3) continue;
      different.insert(test::labels_of(told[row]));
      ++count;
    }
  EXPECT_EQ(count, 16);
  EXPECT_EQ(different.size(), 16U);
}

}  // namespace
}  // namespace segre::hole_draws_test
