#include "segre/net/mixture_fit.h"

#include "segre/core/rng.h"
#include "segre/net/latent_class.h"
#include "segre/path/simplex.h"
#include "tests/support/support.h"

namespace segre::mixture_fit_test {
namespace {

// Ten variables with 2 or 3 labels, more than a LatentClassField leaves to training alone.
Space mixed_space() {
  std::vector<Variable> variables;
  for (int64_t i = 0; i < 10; ++i) variables.push_back({"", 2 + i % 2, {}});
  return Space::table(variables);
}

// Three clearly different products of uneven size.
FittedMixture truth(const Space& space) {
  const auto logits = 2.0 * test::noise({3, space.n_coordinates()}, 7, torch::kFloat32);
  return {torch::tensor({0.5f, 0.3f, 0.2f}).log(), log_lift(space, logits)};
}

// Rows drawn from it: [count, 10] int64.
torch::Tensor draw(const Space& space, const FittedMixture& from, int64_t count, uint64_t seed) {
  const auto uniform = [&](uint64_t part) {
    return fill_uniform(torch::empty({count}), RandomStream(seed, Purpose::training_data).part(part), 0);
  };
  const auto pick = [](const torch::Tensor& p, const torch::Tensor& u) {  // p [count, c]
    return (p.cumsum(1) <= u.unsqueeze(1)).sum(1).clamp_max(p.size(1) - 1);
  };
  const auto classes = pick(from.class_logits.exp().expand({count, -1}), uniform(0));
  std::vector<torch::Tensor> columns;
  for (int64_t i = 0; i < space.n_variables(); ++i) {
    const auto q = from.label_logits.narrow(1, space.offset(i), space.n_labels(i)).exp();
    columns.push_back(pick(q.index_select(0, classes), uniform(static_cast<uint64_t>(i) + 1)));
  }
  return torch::stack(columns, 1);
}

// Six classes have 95 free numbers; each costs 1 / 2N nats of a row, 0.01 in all with 4,500 rows. Three times that.
constexpr double kCost = 0.03;
constexpr int64_t kClasses = 6;
constexpr int64_t kDrawn = 5000;

TEST(MixtureFit, IsAsGoodAsTheMixtureThatMadeTheData) {
  const Space space = mixed_space();
  const auto made = truth(space);
  const auto source = make_dataset_source({.space = space, .labels = draw(space, made, kDrawn, 1)});
  const auto fitted = fit_mixture(*source, kClasses);
  const auto fresh = draw(space, made, 20'000, 2);
  const double wanted = mean_log_probability(space, made, fresh);
  EXPECT_NEAR(mean_log_probability(space, fitted, fresh), wanted, kCost);
  // One class is far from it, so the comparison means something.
  EXPECT_LT(mean_log_probability(space, fit_mixture(*source, 1), fresh), wanted - 10.0 * kCost);
}

TEST(MixtureFit, LeavesOutUnknownLabels) {
  const Space space = mixed_space();
  const auto made = truth(space);
  const auto labels = draw(space, made, kDrawn, 1);
  const auto lost = fill_uniform(torch::empty({kDrawn, 10}), {3, Purpose::training_data}, uint64_t{0}) < 0.2;
  const auto source =
      make_dataset_source({.space = space, .labels = labels.masked_fill(lost, kUnknown), .unknowns = Unknowns::allow});
  const auto fresh = draw(space, made, 20'000, 2);
  EXPECT_NEAR(mean_log_probability(space, fit_mixture(*source, kClasses), fresh),
              mean_log_probability(space, made, fresh), 1.5 * kCost);  // 0.8 of the cells, and unsure classes
  const auto nothing = torch::full({3, 10}, kUnknown, torch::kInt64);
  EXPECT_NEAR(mean_log_probability(space, made, nothing), 0.0, 1e-6);  // one float32 rounding
}

// Every tenth row, which decides when to stop, has a label of its own: what is fitted hardly knows it.
TEST(MixtureFit, LearnsNothingFromTheRowsThatDecideWhenToStop) {
  const Space space = mixed_space();
  const auto labels = draw(space, truth(space), kDrawn, 1);
  labels.select(1, 0).copy_((torch::arange(kDrawn).remainder(10) == 9).to(torch::kInt64));
  const auto fitted = fit_mixture(*make_dataset_source({.space = space, .labels = labels}), kClasses);
  const auto p = fitted.label_logits.narrow(1, 0, 2).softmax(1).select(1, 1);
  // Each class has one count more, a tenth of it for this label, besides 4,500 rows in all.
  const double share = (fitted.class_logits.softmax(0) * p).sum().item<double>();
  EXPECT_LT(share, 2.0 * kClasses * 0.1 / 4500.0);
  EXPECT_GT(share, 0.0);
}

TEST(MixtureFit, NeedsRowsAndAnEnd) {
  const Space space = mixed_space();
  const auto source = make_dataset_source({.space = space, .labels = draw(space, truth(space), 100, 1)});
  EXPECT_TRUE(can_fit_mixture(*source, 50));
  EXPECT_FALSE(can_fit_mixture(*source, 51));
}

TEST(MixtureFit, IsWhereAMixtureStarts) {
  const Space space = mixed_space();
  const auto source = make_dataset_source({.space = space, .labels = draw(space, truth(space), kDrawn, 1)});
  NetOptions options;
  options.of<LatentClassOptions>().classes = kClasses;
  LatentClassField field(space, options, 1);
  field.fit(*source);
  const auto fitted = fit_mixture(*source, kClasses);
  EXPECT_TRUE(torch::equal(field.parameters()[0].second.detach(), fitted.class_logits));
  EXPECT_TRUE(torch::equal(field.parameters()[1].second.detach(), fitted.label_logits));
}

}  // namespace
}  // namespace segre::mixture_fit_test
