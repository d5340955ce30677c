// Every estimator compared with the exact log p of known joint distributions, on the exact flow: the gap of the bounds
// is then zero up to misread labels (1e-5), which leaves noise and integration. The estimators report both.

#include <cmath>
#include <numbers>

#include "segre/likelihood/direct.h"
#include "segre/likelihood/flow_bound.h"
#include "segre/likelihood/free_bound.h"
#include "segre/likelihood/proposal.h"
#include "segre/likelihood/scores.h"
#include "segre/path/e_geodesic.h"
#include "segre/path/path_sample.h"
#include "segre/path/ray.h"
#include "segre/space/blocks.h"
#include "tests/support/messages.h"
#include "tests/support/reference.h"
#include "tests/support/statistics.h"

namespace segre::oracle_bounds_test {
namespace {

// The spaces of the oracle table: six binary variables, three with four labels, one mixed.
std::vector<Space> spaces() {
  return {test::binary_space(6), Space::sequence(3, 4), test::small_mixed_space()};
}

JointOracle oracle_of(const Space& space) { return {test::random_joint(space, 7), make_e_geodesic(0.01)}; }

// The scores' errors, in units of the reported ones, are like standard normals, and the probabilities sum to 1.
void expect_exact(const ItemScores& scores, const JointOracle& oracle, const std::string& name) {
  const auto labels = enumerate_labelings(oracle.space());
  const auto error = scores.log_p - oracle.log_p(labels);
  const auto N = static_cast<double>(labels.size(0));
  const auto reported = total_error(scores);
  const double mean_error = std::sqrt(reported.square().sum().item<double>()) / N;
  EXPECT_LT(std::abs(error.mean().item<double>()), test::kSigmas * mean_error) << name;
  EXPECT_LT((error / reported).abs().max().item<double>(), test::kSigmas + 1.0) << name;
  const Measured sum = sum_of_probabilities(scores);
  EXPECT_LT(sum.value, 1.0 + 3.0 * sum.error) << name;
  EXPECT_GT(sum.value, 1.0 - test::kSigmas * sum.error - 1e-3) << name;
}

TEST(OracleBounds, FreeIsExactWithinItsError) {
  for (const Space& space : spaces()) {
    const JointOracle oracle = oracle_of(space);
    const FreeBound bound(flow_of(oracle), TimeDensity(1.0), {.times = 2048});
    expect_exact(bound(enumerate_labelings(space)), oracle, space.describe());
  }
}

TEST(OracleBounds, PathIsExactWithinItsErrorForEveryTrace) {
  for (const Space& space : spaces()) {
    const JointOracle oracle = oracle_of(space);
    for (const TraceKind kind : {TraceKind::exact, TraceKind::lattice, TraceKind::hutchinson}) {
      const FlowBound bound(flow_of(oracle), {.trace = {.kind = kind, .stride = 2}, .draws = 6});
      expect_exact(mean_of_weights(bound(enumerate_labelings(space))), oracle, space.describe());
    }
  }
}

TEST(OracleBounds, ExactTracesLeaveNoScatter) {
  const JointOracle oracle = oracle_of(test::binary_space(6));
  const auto labels = enumerate_labelings(oracle.space());
  const auto weights = FlowBound(flow_of(oracle), {.draws = 4, .panels = 3})(labels);
  // For the exact flow every weight is p itself, up to integration: 45 nodes leave about 1e-5.
  EXPECT_LT((weights.values - oracle.log_p(labels).unsqueeze(1)).abs().max().item<double>(), 1e-3);
  EXPECT_LT((mean_of_weights(weights).log_p - oracle.log_p(labels)).abs().max().item<double>(), 3e-4);
  EXPECT_LT(test::max_difference(log_mean_of_weights(weights).log_p, mean_of_weights(weights).log_p), 1e-6);
}

TEST(OracleBounds, TheReportedIntegrationErrorCoversTheTrueOne) {
  const JointOracle oracle = oracle_of(test::binary_space(6));
  const auto labels = enumerate_labelings(oracle.space());
  for (const int64_t panels : {1, 2}) {
    const auto weights = FlowBound(flow_of(oracle), {.draws = 2, .panels = panels})(labels);
    const auto error = weights.values.mean(1) - oracle.log_p(labels);
    // Over all items: for a single one the two rules may agree by chance.
    EXPECT_LT(error.square().mean().item<double>(), weights.integration_error().square().mean().item<double>())
        << panels;
    EXPECT_LT(weights.integration_error().abs().max().item<double>(), panels == 1 ? 1.0 : 0.1)
        << "and is no empty claim";
  }
}

TEST(OracleBounds, DirectSimulationIsUnbiased) {
  for (const Space& space : spaces()) {
    const JointOracle oracle = oracle_of(space);
    const auto labels = enumerate_labelings(space);
    const auto scores = direct_estimate(flow_of(oracle), labels, {.draws = 20'000});
    // The sum over all labelings is 1 for every trajectory.
    EXPECT_NEAR(scores.log_p.exp().sum().item<double>(), 1.0, 1e-9);
    // In probability rather than its logarithm, whose mean is biased if a labeling is rare.
    const auto p = oracle.log_p(labels).exp();
    const auto sigmas = (scores.log_p.exp() - p) / (p * (1.0 - p) / 20'000.0).sqrt();
    EXPECT_LT(sigmas.abs().max().item<double>(), test::kSigmas) << space.describe();
  }
}

// The paper's ball compared with the exact density of the oracle: its known table of gaps.
TEST(OracleBounds, TheBallIsValidAndLoosensAsTheFlowSharpens) {
  const JointOracle oracle = oracle_of(test::binary_space(6));
  const auto labels = enumerate_labelings(oracle.space());
  double before = 0.0;
  for (const double t1 : {0.5, 0.6}) {
    const FlowBound bound(flow_of(oracle), {.proposal = ProposalKind::ball, .draws = 32, .t1 = t1});
    const auto scores = mean_of_weights(bound(labels));
    const double gap = (scores.log_p - oracle.log_p(labels)).mean().item<double>();
    // What the same proposal gives with the density in closed form.
    const auto many = labels.repeat_interleave(500, 0);
    const auto noise = reference_noise(oracle.space(), {3, Purpose::probe}, 0, many.size(0), torch::kFloat64);
    auto u = torch::empty({many.size(0), oracle.space().n_variables()}, torch::kFloat64);
    fill_uniform(u, {3, Purpose::readout}, 0);
    const auto draw = draw_from_balls(oracle.space(), oracle.path(), many, noise, u,
                                      BallMass{}.of_each(oracle.space().n_variables()));
    const auto exact = oracle.log_density(draw.v, t1) + draw.log_ratio - oracle.log_p(many);
    const double error = std::sqrt(total_error(scores).square().sum().item<double>()) / 64.0;
    EXPECT_NEAR(gap, exact.mean().item<double>(), test::kSigmas * error) << t1;
    EXPECT_LT(gap, before - 10.0) << t1;
    before = gap;
  }
  EXPECT_NEAR(before, -79.0, 3.0);  // t1 = 0.6: -83 for a labeling with log p = -3.8
}

TEST(OracleBounds, BallsStandNoiseThatPointsNowhere) {
  const Space space = test::small_mixed_space();
  const auto path = make_e_geodesic(0.01);
  const auto labels = test::some_labels(space, 2);
  const auto draw = draw_from_balls(space, *path, labels, torch::zeros({2, space.n_coordinates()}, torch::kFloat64),
                                    torch::full({2, 3}, 0.5, torch::kFloat64), 0.8);
  EXPECT_TRUE(draw.v.isfinite().all().item<bool>());
  EXPECT_TRUE(torch::equal(argmax_labels(space, draw.v), labels)) << "inside the balls";
}

TEST(OracleBounds, BallsThatWouldTakeStepsWithoutEndAreRefused) {
  const Flow flow = flow_of(oracle_of(test::binary_space(2)));
  const auto message = test::input_error([&] { FlowBound(flow, {.proposal = ProposalKind::ball, .t1 = 1.0 - 1e-9}); });
  EXPECT_TRUE(test::contains(message, "from there the ball takes "));
  EXPECT_TRUE(test::contains(message, "at most 10000 are taken; choose an earlier t1, or the path bound"));
}

TEST(ChiSquareQuantile, IsThatOfTheTables) {
  const auto p = torch::tensor({0.05, 0.5, 0.95, 0.999}, torch::kFloat64);
  const auto of_1 = torch::tensor({0.003932140000, 0.454936423120, 3.841458820694, 10.827566170663}, torch::kFloat64);
  const auto of_2 = -2.0 * (1.0 - p).log();
  EXPECT_LT(test::max_difference(chi_square_quantile(p, 1), of_1), 1e-9);
  EXPECT_LT(test::max_difference(chi_square_quantile(p, 2), of_2), 1e-9);
  EXPECT_LT(chi_square_quantile(torch::zeros({1}, torch::kFloat64), 3).item<double>(), 1e-12);
  EXPECT_TRUE(chi_square_quantile(torch::ones({1}, torch::kFloat64), 3).isfinite().all().item<bool>());
}

TEST(ChiSquareQuantile, OfWhatIsNotAProbabilityEndsWithAnError) {
  for (const double p : {std::nan(""), 1.0001, -0.1})
    EXPECT_EQ(test::any_error([&] { chi_square_quantile(torch::full({2}, p, torch::kFloat64), 3); }),
              "a quantile needs a probability between 0 and 1")
        << p;
}

TEST(BallMass, IsOfEachVariableOrOfAllTogether) {
  EXPECT_DOUBLE_EQ((BallMass{.share = 0.8, .each = true}.of_each(2)), 0.8);
  EXPECT_DOUBLE_EQ((BallMass{.share = 0.8, .each = false}.of_each(2)), std::sqrt(0.8));
}

TEST(OracleBounds, TheBallsDensityIsThatOfNormalsCutOffAtTheirBalls) {
  // Two binary variables: along its one direction each offset is a normal with standard deviation sigma, cut off at the
  // radius, with sqrt(0.8) of its mass inside.
  const Space space = test::binary_space(2);
  const auto path = make_e_geodesic(0.01);
  const auto labels = torch::tensor({{0, 1}}, torch::kInt64);
  const auto u = torch::tensor({{0.3, 0.9}}, torch::kFloat64);
  const double inside = std::sqrt(0.8);
  const auto draw = draw_from_balls(space, *path, labels, test::tangent_noise(space, 1), u, inside);
  const double radius = path->corner_scale(2) / std::sqrt(2.0);
  const double sigma =
      radius / std::sqrt(chi_square_quantile(torch::full({1}, inside, torch::kFloat64), 1).item<double>());
  const auto offset = draw.v - corners(space, *path, labels, torch::kFloat64);
  double log_ratio = 0.0;
  for (int64_t i = 0; i < 2; ++i) {
    const double length = offset.slice(1, 2 * i, 2 * i + 2).norm().item<double>();
    EXPECT_LT(length, radius);
    // The share of the ball within this length is the uniform it came from.
    EXPECT_NEAR(std::erf(length / sigma / std::sqrt(2.0)) / inside, u[0][i].item<double>(), 1e-9);
    log_ratio += 0.5 * length * length / (sigma * sigma) + std::log(sigma * std::sqrt(2.0 * std::numbers::pi)) +
                 std::log(inside);
  }
  EXPECT_NEAR(draw.log_ratio.item<double>(), log_ratio, 1e-9);
}

TEST(OracleBounds, EveryDrawOfAnItemHasProbesOfItsOwn) {
  // An endpoint linear in v: with the same signs the error of the probed trace would be the same for every draw.
  Flow flow = flow_of(oracle_of(test::binary_space(4)));
  const auto A = 0.1 * test::noise({8, 8}, 3);
  flow.endpoint = [A](const State& state) { return state.v.matmul(A); };
  flow.from_evidence = false;
  const auto labels = test::some_labels(flow.space, 1);
  const FlowBoundOptions exact{.draws = 4, .panels = 1};
  FlowBoundOptions probed = exact;
  probed.trace.kind = TraceKind::hutchinson;
  const auto error = FlowBound(flow, probed)(labels).values - FlowBound(flow, exact)(labels).values;
  for (int64_t k = 1; k < 4; ++k) EXPECT_GT(std::abs((error[0][k] - error[0][0]).item<double>()), 1e-4) << "draw " << k;
}

TEST(OracleBounds, TheRayIsServedToo) {
  const JointOracle oracle(test::random_joint(test::binary_space(4), 7), make_ray(0.5));
  const auto labels = enumerate_labelings(oracle.space());
  const auto path = mean_of_weights(FlowBound(flow_of(oracle), {.draws = 4})(labels));
  EXPECT_LT((path.log_p - oracle.log_p(labels)).abs().max().item<double>(), 0.02);
  const FreeBound bound(flow_of(oracle), TimeDensity(1.0), {.times = 2048});
  expect_exact(bound(labels), oracle, "ray");
}

// Before labels are decided the readout matters: both bounds have the gap E[log P(alpha|v) - log w_alpha(v)], which the
// oracle gives in closed form.
TEST(OracleBounds, EarlyOnBothHaveTheGapOfTheReadout) {
  const JointOracle oracle = oracle_of(test::binary_space(4));
  const auto labels = enumerate_labelings(oracle.space());
  const double t1 = 0.3;
  auto expected = torch::empty({labels.size(0)}, torch::kFloat64);
  for (int64_t k = 0; k < labels.size(0); ++k) {
    const auto u_0 = reference_noise(oracle.space(), {5, Purpose::probe}, 0, 20'000, torch::kFloat64);
    expected[k] = oracle.path_log_weights(labels[k], u_0, t1).mean();
  }
  // An early readout is smoother than p: rare labelings gain, the mean over p loses.
  const auto log_p = oracle.log_p(labels);
  EXPECT_LT((log_p.exp() * (expected - log_p)).sum().item<double>(), -0.02) << "a gap to be seen";
  const auto path = mean_of_weights(FlowBound(flow_of(oracle), {.draws = 64, .t1 = t1})(labels));
  const auto free = FreeBound(flow_of(oracle), TimeDensity(1.0), {.times = 4096, .t1 = t1})(labels);
  for (const ItemScores& scores : {path, free}) {
    const double error = std::sqrt(scores.std_error.square().sum().item<double>()) / 16.0;
    EXPECT_LT(error, 0.02);
    EXPECT_NEAR((scores.log_p - expected).mean().item<double>(), 0.0, 4.0 * error);
  }
}

TEST(OracleBounds, LogMeanExpWithProbesIsRefused) {
  const JointOracle oracle = oracle_of(test::binary_space(2));
  const FlowBound bound(flow_of(oracle), {.trace = {.kind = TraceKind::hutchinson}, .draws = 2});
  const auto weights = bound(enumerate_labelings(oracle.space()));
  EXPECT_NE(test::input_error([&] { log_mean_of_weights(weights); }).find("not a bound"), std::string::npos);
}

TEST(OracleBounds, ImpossibleMeansAreNotReportedAsBounds) {
  const Space space = test::binary_space(2);
  const ItemScores scores{torch::full({10}, 0.5, torch::kFloat64), torch::full({10}, 0.1, torch::kFloat64)};
  EXPECT_THROW(require_possible(summarise(scores, space)), Error);
  const ItemScores unknown{torch::full({1}, 0.5, torch::kFloat64), torch::full({1}, NAN, torch::kFloat64)};
  EXPECT_THROW(require_possible(summarise(unknown, space)), Error) << "an unknown error excuses nothing";
  EXPECT_THROW(require_possible(Measured{1.2, 0.03}), Error);
  EXPECT_NO_THROW(require_possible(Measured{1.1, 0.03}));
  const ItemScores noisy{torch::full({10}, 0.05, torch::kFloat64), torch::full({10}, 0.1, torch::kFloat64)};
  EXPECT_NO_THROW(require_possible(summarise(noisy, space)));
}

}  // namespace
}  // namespace segre::oracle_bounds_test
