// Evaluations are spent until an error is reached, and no longer.

#include "segre/likelihood/refine.h"

#include <cmath>

#include "segre/core/deadline.h"
#include "segre/likelihood/scores.h"
#include "segre/path/e_geodesic.h"
#include "tests/support/reference.h"

namespace segre::refine_test {
namespace {

struct Setting {
  JointOracle oracle{test::random_joint(test::binary_space(3), 7), make_e_geodesic(0.01)};
  Flow flow = flow_of(oracle);
  torch::Tensor labels = oracle.table().labelings;
};

// Asks for an error of `nats` in the average.
ErrorTarget average_within(const Space& space, double nats, int64_t most = 0) {
  ErrorTarget target;
  target.measure = [=](const ItemScores& scores) {
    return ErrorTarget::State{summarise(scores, space).estimation_error, nats};
  };
  target.most = most;
  return target;
}

std::vector<std::unique_ptr<Refinement>> all_kinds(const Setting& s) {
  std::vector<std::unique_ptr<Refinement>> kinds;
  kinds.push_back(refine_free_bound(s.flow, TimeDensity(1.0), {.times = 32}, s.labels));
  kinds.push_back(refine_flow_bound(s.flow, {.trace = {.kind = TraceKind::hutchinson}, .draws = 4, .panels = 1},
                                    /*log_mean=*/false, s.labels));
  kinds.push_back(refine_direct(s.flow, {.draws = 500}, s.labels));
  return kinds;
}

TEST(Refine, EveryEstimatorReachesTheErrorAskedFor) {
  const Setting s;
  for (const auto& refinement : all_kinds(s)) {
    const Reached reached = reach_error(*refinement, average_within(s.flow.space, 0.03), nullptr);
    EXPECT_FALSE(reached.capped);
    EXPECT_LE(reached.state.error, 0.03);
    // A margin of a tenth over what the first rounds ask for, and the noise of their errors.
    EXPECT_GT(reached.state.error, 0.015) << "more was spent than needed";
    EXPECT_EQ(reached.spent, refinement->spent());
    const auto scores = refinement->scores();
    const double off = (scores.log_p - s.oracle.log_p(s.labels)).mean().item<double>();
    EXPECT_LT(std::abs(off), 5.0 * 0.03);
  }
}

// Stopping where the error of the scores themselves looks small would stop early at values that happen to agree. Few
// evaluations of single items and no control variate: what is averaged is skewed.
TEST(Refine, WhereItStopsDoesNotDependOnWhatItAverages) {
  const Setting s;
  const auto exact = s.oracle.log_p(s.labels);
  constexpr int kSeeds = 200;
  const int64_t n_items = s.labels.size(0);
  std::vector<double> off;
  for (int64_t k = 0; k < n_items; ++k)
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const auto refinement = refine_free_bound(s.flow, TimeDensity(1.0), {.times = 4, .control = false, .seed = seed},
                                                s.labels.slice(0, k, k + 1));
      reach_error(*refinement, average_within(s.flow.space, 0.5), nullptr);
      off.push_back((refinement->scores().log_p - exact[k]).item<double>());
    }
  const auto all = test::tensor_of(off);
  const double mean = all.mean().item<double>();
  const double error = all.std().item<double>() / std::sqrt(static_cast<double>(off.size()));
  EXPECT_LT(std::abs(mean), 3.0 * error) << mean << " +- " << error;
}

TEST(Refine, ADeadlineLeavesALargerErrorAndSaysSo) {
  const Setting s;
  auto kinds = all_kinds(s);
  kinds.pop_back();  // direct simulation does not know its error while a labeling has not occurred
  for (const auto& refinement : kinds) {
    const DeadlineGuard guard(1.0);
    const Reached reached = reach_error(*refinement, average_within(s.flow.space, 1e-9, int64_t{1} << 40), nullptr);
    EXPECT_TRUE(reached.out_of_time);
    EXPECT_FALSE(reached.capped);
    EXPECT_GT(reached.spent, 0);
    EXPECT_EQ(reached.spent, refinement->spent());
    const auto scores = refinement->scores();
    const double off = (scores.log_p - s.oracle.log_p(s.labels)).mean().item<double>();
    EXPECT_LT(std::abs(off), 6.0 * reached.state.error);
  }
}

// The same evaluations as without a limit.
TEST(Refine, ADeadlineThatIsFarChangesNothing) {
  const Setting s;
  const auto found = [&] {
    const auto refinement = refine_free_bound(s.flow, TimeDensity(1.0), {.times = 32}, s.labels);
    EXPECT_FALSE(reach_error(*refinement, average_within(s.flow.space, 0.03), nullptr).out_of_time);
    return refinement->scores().log_p;
  };
  const auto without = found();
  const DeadlineGuard guard(1000.0);
  EXPECT_TRUE(torch::equal(found(), without));
}

TEST(Refine, StopsAtTheMostAndSaysSo) {
  const Setting s;
  for (const auto& refinement : all_kinds(s)) {
    const int64_t most = 3 * refinement->first() + 1;
    const Reached reached = reach_error(*refinement, average_within(s.flow.space, 1e-6, most), nullptr);
    EXPECT_TRUE(reached.capped);
    EXPECT_GT(reached.state.error, reached.state.wanted);
    EXPECT_GE(reached.spent, most);
    EXPECT_LT(reached.spent, most + refinement->unit());
  }
}

TEST(Refine, AFirstRoundThatSufficesIsAllThereIs) {
  const Setting s;
  const auto refinement = refine_free_bound(s.flow, TimeDensity(1.0), {.times = 64, .seed = 3}, s.labels);
  reach_error(*refinement, average_within(s.flow.space, 100.0), nullptr);
  EXPECT_EQ(refinement->spent(), 64);
  const FreeBound bound(s.flow, TimeDensity(1.0), {.times = 64, .seed = 3});
  EXPECT_TRUE(torch::equal(refinement->scores().log_p, bound(s.labels).log_p));
}

TEST(Refine, RoundsHaveNoiseOfTheirOwn) {
  const Setting s;
  const auto free = refine_free_bound(s.flow, TimeDensity(1.0), {.times = 64}, s.labels);
  free->spend(64, nullptr);
  const auto one = free->scores();
  free->spend(64, nullptr);
  const auto two = free->scores();
  EXPECT_GT(test::max_difference(one.log_p, two.log_p), 1e-3) << "the same noise again would change nothing";
  // Twice the evaluations: half the variance.
  const double ratio = two.std_error.square().mean().item<double>() / one.std_error.square().mean().item<double>();
  EXPECT_NEAR(ratio, 0.5, 0.3);
  EXPECT_NE(round_seed(1, 1), round_seed(1, 2));
  EXPECT_EQ(round_seed(7, 0), 7U);
}

TEST(Refine, ManyEvaluationsComeInRoundsThatFitIntoMemory) {
  // A flow that knows nothing, on enough variables that 2,048 evaluations of an item take two rounds.
  const Space space = Space::image(32, 32, 2);
  const StateFunction nothing = [](const State& state) { return torch::zeros_like(state.v); };
  const Flow flow{.space = space,
                  .path = make_e_geodesic(0.01),
                  .options = torch::kFloat32,
                  .endpoint = nothing,
                  .velocity = nothing};
  const auto labels = test::some_labels(space, 1);
  const auto refinement = refine_free_bound(flow, TimeDensity(1.0), {.seed = 5}, labels);
  int64_t total = 0;
  refinement->spend(2048, [&](int64_t, int64_t all) { total = all; });
  EXPECT_EQ(refinement->spent(), 2048);
  EXPECT_EQ(total, 2) << "an item in two rounds";
  double mean = 0.0;
  for (const int64_t round : {0, 1}) {
    const FreeBound bound(flow, TimeDensity(1.0), {.times = 1024, .seed = round_seed(5, round)});
    mean += 0.5 * bound(labels).log_p.item<double>();
  }
  EXPECT_NEAR(refinement->scores().log_p.item<double>(), mean, 1e-9 * std::abs(mean));
}

TEST(Refine, DrawsGoOnWhereTheyStopped) {
  const Setting s;
  const FlowBoundOptions options{.trace = {.kind = TraceKind::hutchinson}, .draws = 6, .panels = 1};
  const auto flow = refine_flow_bound(s.flow, options, false, s.labels);
  flow->spend(4, nullptr);
  flow->spend(2, nullptr);
  const auto whole = mean_of_weights(FlowBound(s.flow, options)(s.labels));
  EXPECT_LT(test::max_difference(flow->scores().log_p, whole.log_p), 1e-9);
  EXPECT_LT(test::max_difference(flow->scores().std_error, whole.std_error), 1e-9);
  const auto direct = refine_direct(s.flow, {.draws = 3000}, s.labels);
  direct->spend(2048, nullptr);
  direct->spend(952, nullptr);
  EXPECT_LT(test::max_difference(direct->scores().log_p, direct_estimate(s.flow, s.labels, {.draws = 3000}).log_p),
            1e-9);
}

TEST(Refine, TellsHowFarItIs) {
  const Setting s;
  for (const auto& refinement : all_kinds(s)) {
    std::vector<int64_t> done;
    int64_t total = 0;
    refinement->spend(refinement->first(), [&](int64_t now, int64_t all) {
      done.push_back(now);
      total = all;
    });
    ASSERT_FALSE(done.empty());
    EXPECT_EQ(done.back(), total);
  }
}

}  // namespace
}  // namespace segre::refine_test
