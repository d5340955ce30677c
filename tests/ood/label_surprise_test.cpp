#include "segre/ood/label_surprise.h"

#include <cmath>

#include "segre/core/deadline.h"
#include "segre/data/label_counts.h"
#include "segre/model/joint_oracle.h"
#include "segre/path/e_geodesic.h"
#include "tests/support/reference.h"

namespace segre::label_surprise_test {
namespace {

// Two binary variables that agree nine times out of ten, and a third that is independent.
JointTable agreeing() {
  const Space space = test::binary_space(3);
  const auto labelings = enumerate_labelings(space);
  const auto agree = labelings.select(1, 0) == labelings.select(1, 1);
  return make_joint_table(
      space, labelings,
      torch::where(agree, torch::full({8}, 0.225, torch::kFloat64), torch::full({8}, 0.025, torch::kFloat64)));
}

struct Setting {
  JointOracle oracle{agreeing(), make_e_geodesic(0.01)};
  Flow flow = flow_of(oracle);
  torch::Tensor labels = oracle.table().labelings;
  torch::Tensor counts = torch::full({6}, 1000, torch::kInt64);  // every label half of the time
};

// E[log p(x_0 | v_1)] for x_1 = `other`, by quadrature over the noise of v_1, which decides in this joint.
double told_by_quadrature(bool agree) {
  // With the distance r between corners in units of the noise, the log odds of x_1 given v_1 are r^2/2 on average, with
  // variance r^2: evidence of a binary label in Gaussian noise. The corners kappa (1/2, -1/2) and its opposite are
  // sqrt(2) kappa apart.
  const double r = std::sqrt(2.0) * LabelSurprise::kStrength;
  double sum = 0.0, weight = 0.0;
  for (int k = -4000; k <= 4000; ++k) {
    const double z = k / 500.0;
    const double w = std::exp(-0.5 * z * z);
    const double odds = std::exp(0.5 * r * r + r * z);
    const double right = odds / (1.0 + odds);  // probability of the true x_1
    const double p = agree ? 0.9 * right + 0.1 * (1.0 - right) : 0.1 * right + 0.9 * (1.0 - right);
    sum += w * std::log(p);
    weight += w;
  }
  return sum / weight;
}

TEST(LabelSurprise, OfAnExactFlowIsWhatBayesSays) {
  const Setting s;
  const auto found = label_surprise(s.flow, s.counts, s.labels, {.error = 0.01, .most = 1 << 14});
  for (int64_t k = 0; k < 8; ++k) {
    const bool agree = s.labels[k][0].item<int64_t>() == s.labels[k][1].item<int64_t>();
    const double wanted = std::log(0.5) - told_by_quadrature(agree);
    for (int64_t i = 0; i < 2; ++i)
      EXPECT_NEAR(found.mean[k][i].item<double>(), wanted, 5.0 * found.std_error[k][i].item<double>() + 1e-3);
    EXPECT_NEAR(found.mean[k][2].item<double>(), 0.0, 1e-3) << "nothing is known of the third";
  }
}

// The surprises of the first two labels of every row, by quadrature: [8, 2].
torch::Tensor exact_surprises(const Setting& s) {
  auto exact = torch::empty({8, 2}, torch::kFloat64);
  for (int64_t k = 0; k < 8; ++k)
    exact[k].fill_(std::log(0.5) -
                   told_by_quadrature(s.labels[k][0].item<int64_t>() == s.labels[k][1].item<int64_t>()));
  return exact;
}

// What 40 seeds say: the mean square of the deviations in standard errors, and the mean of the deviations, in nats.
struct Deviations {
  double squares = 0.0;
  double mean = 0.0;
};
Deviations deviations(double error) {
  const Setting s;
  const auto exact = exact_surprises(s);
  constexpr int kSeeds = 40;
  Deviations out;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const auto found = label_surprise(s.flow, s.counts, s.labels, {.error = error, .seed = seed});
    EXPECT_LE(largest(s.flow.space, found).std_error.max().item<double>(), error);
    const auto off = found.mean.slice(1, 0, 2) - exact;
    out.squares += (off / found.std_error.slice(1, 0, 2)).square().mean().item<double>() / kSeeds;
    out.mean += off.mean().item<double>() / kSeeds;
  }
  return out;
}

// The 640 squares in standard errors have a spread of about 1.7 each, since the draws are skewed, so that their mean is
// known to 0.07. Refinement with the noise of earlier draws makes it 2.7 with an error of 0.02.
TEST(LabelSurprise, ErrorsAreReachedAndTrue) {
  const auto fine = deviations(0.02);
  EXPECT_NEAR(fine.squares, 1.0, 0.3);
  // With the fewest draws. Errors of what was averaged because its error looks small make it 1.5.
  const auto coarse = deviations(0.05);
  EXPECT_NEAR(coarse.squares, 1.1, 0.2);
}

TEST(LabelSurprise, ARowsDependsOnTheRowAndTheSeedAlone) {
  const Setting s;
  const LabelSurpriseOptions options{.error = 100.0, .seed = 3};
  const auto all = label_surprise(s.flow, s.counts, s.labels, options);
  const auto one = label_surprise(s.flow, s.counts, s.labels.slice(0, 5, 6), options);
  EXPECT_LT(test::max_difference(all.mean.slice(0, 5, 6), one.mean), 1e-6);
  EXPECT_EQ(one.spent.item<int64_t>(), 64);
  const auto other = label_surprise(s.flow, s.counts, s.labels, {.error = 100.0, .seed = 4});
  EXPECT_GT(test::max_difference(all.mean, other.mean), 1e-3);
}

// Four of the eight rows disagree. The others stay with the fewest evaluations, however noisy they are.
TEST(LabelSurprise, OnlyRowsThatMayBeAmongTheOddestReachTheError) {
  const Setting s;
  constexpr double kError = 0.01;
  const auto found = label_surprise(s.flow, s.counts, s.labels, {.error = kError, .most = 1 << 14, .sharp = 4});
  const auto odd = s.labels.select(1, 0) != s.labels.select(1, 1);
  EXPECT_TRUE(torch::equal(found.refined, odd));
  const auto error = largest(s.flow.space, found).std_error;
  EXPECT_LE(error.masked_select(odd).max().item<double>(), kError);
  EXPECT_GT(found.spent.masked_select(odd).min().item<int64_t>(), 64);
  EXPECT_EQ(found.spent.masked_select(odd.logical_not()).max().item<int64_t>(), 64);
  const auto off = (found.mean.slice(1, 0, 2) - exact_surprises(s)).abs();
  EXPECT_LT((off / found.std_error.slice(1, 0, 2)).max().item<double>(), 6.0);
}

TEST(LabelSurprise, ADeadlineLeavesLargerErrors) {
  const Setting s;
  const LabelSurpriseOptions options{.error = 1e-9, .most = int64_t{1} << 40};
  const DeadlineGuard guard(0.5);
  std::vector<std::pair<int64_t, int64_t>> progress;
  const auto found = label_surprise(s.flow, s.counts, s.labels, options, [&](int64_t done, int64_t total) {
    progress.emplace_back(done, total);
    check_deadline();
  });
  EXPECT_TRUE(found.out_of_time);
  EXPECT_GE(found.spent.min().item<int64_t>(), 64);
  const auto off = (found.mean.slice(1, 0, 2) - exact_surprises(s)).abs();
  EXPECT_LT((off / found.std_error.slice(1, 0, 2)).max().item<double>(), 6.0);
  for (size_t k = 0; k < progress.size(); ++k) {
    EXPECT_LE(progress[k].first, progress[k].second);
    EXPECT_GT(progress[k].first, k > 0 ? progress[k - 1].first : 0);
  }
  EXPECT_THROW(label_surprise(s.flow, s.counts, s.labels, options), DeadlineExceeded) << "nothing was scored in time";
}

TEST(LabelSurprise, TheLargestIsNamed) {
  const LabelSurprise surprise{test::tensor_of({1.0, 3.0, 2.0, -1.0, -3.0, -2.0}).view({2, 3}),
                               test::tensor_of({0.1, 0.3, 0.2, 0.4, 0.5, 0.6}).view({2, 3}),
                               torch::tensor({64, 64}, torch::kInt64)};
  const auto odd = largest(test::space_of({2, 3, 2}), surprise);
  EXPECT_EQ(largest(test::space_of({1, 3, 2}), surprise).variable[1].item<int64_t>(), 2) << "a constant is not odd";
  EXPECT_EQ(test::values_of(odd.value), (std::vector<double>{3.0, -1.0}));
  EXPECT_EQ(test::values_of(odd.std_error), (std::vector<double>{0.3, 0.4}));
  EXPECT_EQ(test::labels_of(odd.variable), (std::vector<int64_t>{1, 0}));
}

}  // namespace
}  // namespace segre::label_surprise_test
