#include "segre/eval/sampler_quality.h"
#include "segre/path/e_geodesic.h"

#include <cmath>
#include <set>

#include "tests/support/reference.h"
#include "tests/support/samplers.h"
#include "tests/support/threads.h"

namespace segre::sampler_quality_test {
namespace {

TEST(LabelSummary, CountsWhatCanBeCountedByHand) {
  const Space space = Space::image(2, 3, 3);
  //  0 1 1    2 2 2
  //  0 0 2    2 2 2
  const auto labels = torch::tensor({{0, 1, 1, 0, 0, 2}, {2, 2, 2, 2, 2, 2}});
  const LabelSummary summary = summarise_labels(space, labels);
  EXPECT_EQ(summary.shares, (std::vector<double>{3.0 / 12, 2.0 / 12, 7.0 / 12}));
  EXPECT_EQ(summary.nonzero_mean, 4.5);
  EXPECT_NEAR(summary.nonzero_sd, std::sqrt(2 * 1.5 * 1.5), 1e-12);
  // Seven pairs each; in the first image the horizontal pairs 0|1, 0|2 and the vertical pairs 1/0, 1/2 differ.
  EXPECT_NEAR(summary.neighbours_differ, 4.0 / 14, 1e-12);
}

TEST(LabelSummary, ALabelsShareIsAmongTheVariablesThatHaveIt) {
  const LabelSummary summary =
      summarise_labels(test::space_of({2, 3}), torch::tensor({{1, 2}, {0, 2}, {1, 0}, {0, 1}}));
  EXPECT_EQ(summary.shares, (std::vector<double>{3.0 / 8, 3.0 / 8, 2.0 / 4}));
  EXPECT_TRUE(std::isnan(summary.neighbours_differ));
}

TEST(LabelSummary, TheShareErrorIsTheMeanOverLabels) {
  EXPECT_NEAR(share_error({.shares = {0.5, 0.5}}, {.shares = {0.4, 0.6}}), 0.1, 1e-12);
}

constexpr double kManyLabels = 1e6;  // enough to make the interval narrow

SamplerRun run_of(const char* sampler, double evaluations, double disagreement, double n_compared = kManyLabels) {
  return {{.sampler = sampler}, evaluations, disagreement, {}, disagreement, disagreement, n_compared};
}

TEST(SamplerKnee, IsTheCheapestRunFromWhichAllStayBelow) {
  SamplerQuality quality;
  quality.runs = {run_of("euler", 4, 0.5),       run_of("euler", 8, 0.01), run_of("euler", 16, 0.2),
                  run_of("euler", 32, 0.01),     run_of("euler", 64, 0.0), run_of("rk4", 4, 0.3),
                  run_of("rk4", 8, 0.005),       run_of("heun", 4, 0.0),   run_of("heun", 8, 0.1),
                  run_of("sde", 4, std::nan(""))};
  EXPECT_EQ(knee(quality, "euler", 0.02)->n_evaluations, 32);  // the lucky result at 8 does not count
  EXPECT_EQ(knee(quality, "euler", 0.006)->n_evaluations, 64);
  EXPECT_FALSE(knee(quality, "heun", 0.02));
  EXPECT_FALSE(knee(quality, "sde", 1.0));
  EXPECT_EQ(best_knee(quality, 0.02)->options.sampler, "rk4");
  EXPECT_FALSE(best_knee({}, 1.0));
}

// 64 samples of two labels: no difference among 128 still allows up to 2.9%.
TEST(SamplerKnee, NoDifferenceAmongFewLabelsIsNotEnough) {
  SamplerQuality quality;
  quality.runs = {run_of("rk4", 4, 0.1, 128), run_of("rk4", 8, 0.0, 128), run_of("rk4", 16, 0.0, 128),
                  run_of("euler", 4, 0.2, 128)};
  EXPECT_NEAR(disagreement_limit(quality.runs[1]), 3.8414588 / (128 + 3.8414588), 1e-8);
  EXPECT_FALSE(knee(quality, "rk4", 0.005));
  EXPECT_FALSE(best_knee(quality, 0.005));
  EXPECT_EQ(knee(quality, "rk4", 0.03)->n_evaluations, 8);
  // If more samples would help, the text says how many; if not, it says nothing.
  const auto more = unconfirmed_knee(quality, "rk4", 0.005);
  ASSERT_TRUE(more);
  EXPECT_EQ(more->run.n_evaluations, 8);
  EXPECT_NEAR(more->more_samples, 3.8414588 * 0.995 / 0.005 / 128, 1e-6);
  EXPECT_FALSE(unconfirmed_knee(quality, "euler", 0.005));
}

// Pixels that always differ together are one observation per sample.
TEST(SamplerQuality, LabelsThatDifferTogetherCountOnce) {
  const Space space = test::binary_space(6);
  auto p = torch::zeros({64}, torch::kFloat64);
  p[0] = 0.5;
  p[63] = 0.5;
  const JointTable joint = make_joint_table(space, enumerate_labelings(space), p + 1e-9);
  const SamplerQuality quality = measure_samplers(flow_of(JointOracle(joint, make_e_geodesic(0.01))),
                                                  {.count = 300, .reference_steps = 50, .sample = {}, .seed = 2});
  for (const SamplerRun& run : quality.runs) {
    if (!sampler_kind(run.options.sampler).deterministic) continue;  // not compared
    EXPECT_GE(run.n_compared, 300.0);
    EXPECT_LE(run.n_compared, 1.5 * 300.0) << run.options.sampler << ' ' << run.n_evaluations;
  }
}

TEST(SamplerQuality, DearerSettingsAreLeftOut) {
  const auto settings = quality_settings(sampler_kind("midpoint"), *make_e_geodesic(0.01),
                                         {.most_evaluations = 20, .sample = {.stop = Stop::end}});
  std::vector<int64_t> steps;
  for (const SampleOptions& setting : settings) {
    steps.push_back(setting.steps);
    EXPECT_EQ(setting.stop, Stop::end);
  }
  EXPECT_EQ(steps, (std::vector<int64_t>{2, 3, 4, 5, 6, 8, 10}));
}

// On the exact flow of a small joint.
TEST(SamplerQuality, EverySamplerIsMeasuredFromFourToTwoHundredEvaluations) {
  const test::Threads one(1);
  const JointTable joint = test::random_joint(test::small_mixed_space());
  const SamplerQuality quality = measure_samplers(flow_of(JointOracle(joint, make_e_geodesic(0.01))),
                                                  {.count = 1000, .reference_steps = 100, .sample = {}, .seed = 2});
  EXPECT_EQ(quality.reference.n_evaluations, 400);
  std::set<std::string> seen;
  double before = 0.0;
  for (const SamplerRun& run : quality.runs) {
    const bool next = seen.insert(run.options.sampler).second;
    EXPECT_GE(run.n_evaluations, 4);
    EXPECT_LE(run.n_evaluations, 200);
    EXPECT_TRUE(next || run.n_evaluations > before) << run.options.sampler << ' ' << run.n_evaluations;
    EXPECT_TRUE(!next || run.options.sampler == "dopri5" || run.n_evaluations == 4) << run.options.sampler;
    before = run.n_evaluations;
  }
  // Erasure is left out: it follows no flow, so its labels have nothing to do with the reference's, and three variables
  // take it three evaluations at most.
  const std::vector<std::string> expected = test::stepping_sampler_names();
  EXPECT_EQ(seen, std::set<std::string>(expected.begin(), expected.end()));
  EXPECT_EQ(before, 200);

  // Labels of the deterministic samplers converge to the reference's, those of sde do not.
  for (const std::string& sampler : expected) EXPECT_EQ(!knee(quality, sampler, 0.02), sampler == "sde") << sampler;
  EXPECT_LT(knee(quality, "multistep", 0.003)->n_evaluations, knee(quality, "euler", 0.003)->n_evaluations);

  // Each reports its uncertainty; even no difference in 1,000 samples leaves room for some.
  for (const SamplerRun& run : quality.runs) {
    if (run.options.sampler == "sde") continue;
    EXPECT_LE(run.disagreement_low, run.disagreement) << run.options.sampler;
    EXPECT_GE(run.disagreement_high, run.disagreement + 1e-4) << run.options.sampler;
    EXPECT_LT(run.disagreement_high, run.disagreement + 0.04) << run.options.sampler;
  }

  // The table has a row for each; cells that do not apply are empty.
  const QualityTable text = quality_table(quality, &quality.reference.summary);
  ASSERT_EQ(text.rows.size(), quality.runs.size() + 2);
  EXPECT_EQ(text.rows[0][0], "data");
  EXPECT_EQ(text.rows[1][0], "reference");
  EXPECT_EQ(text.rows[1][3], "400");
  for (const auto& row : text.rows) {
    ASSERT_EQ(row.size(), text.header.size());
    EXPECT_EQ(row[4].empty(), row[0] == "sde" || row[0] == "data") << row[0];
    EXPECT_EQ(row[2].empty(), row[0] != "dopri5") << row[0];
    EXPECT_EQ(row[8], "") << "no image";
  }
}

}  // namespace
}  // namespace segre::sampler_quality_test
