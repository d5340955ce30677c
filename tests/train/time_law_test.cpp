#include "segre/train/time_law.h"

#include <cmath>

#include "segre/model/joint_oracle.h"
#include "segre/path/e_geodesic.h"
#include "segre/path/path_sample.h"
#include "segre/path/ray.h"
#include "segre/path/simplex.h"
#include "segre/space/blocks.h"
#include "tests/support/reference.h"
#include "tests/support/threads.h"

namespace segre::time_law_test {
namespace {

using test::max_difference;

const RandomStream kTimes{3, Purpose::training_time};
constexpr double kT1 = 0.55;
constexpr int64_t kCount = 4096;

std::shared_ptr<const Path> line() { return make_e_geodesic(0.01); }

// A batch of times of the law, with its weights, in float64.
TimeLaw::Draw draw(const TimeLaw& law, uint64_t first_item, int64_t count) {
  const auto [t, weight] = law.at(TimeLaw::uniforms(kTimes, first_item, count));
  return {t.to(torch::kFloat64), weight.to(torch::kFloat64)};
}

// An information law that has learned that all error is in a window of times.
TimeLaw learned(double from, double to, bool reweight, std::shared_ptr<const Path> path = line()) {
  TimeLaw law(TimeLawKind::information, std::move(path), kT1, reweight);
  for (uint64_t batch = 0; batch < 1000; ++batch) {
    const auto t = draw(law, batch * 256, 256).t;
    law.learn(t, ((t >= from) & (t < to)).to(torch::kFloat32));
  }
  return law;
}

double share_within(const torch::Tensor& t, double from, double to) {
  return ((t >= from) & (t < to)).to(torch::kFloat64).mean().item<double>();
}

TEST(TimeLaw, FixedLawsAreUniformUpToTheirEnd) {
  for (const auto& [kind, end] : {std::pair{TimeLawKind::uniform, 1.0}, {TimeLawKind::decision, kT1}}) {
    const TimeLaw law(kind, line(), kT1);
    EXPECT_EQ(law.t_max(), end);
    const auto [t, weight] = draw(law, 0, kCount);
    EXPECT_GE(t.min().item<double>(), 0.0);
    EXPECT_LE(t.max().item<double>(), end);
    // Stratified, so that any interval holds its share up to an item at each end.
    EXPECT_NEAR(share_within(t, 0.0, 0.3 * end), 0.3, 2.0 / kCount);
    EXPECT_TRUE(torch::equal(weight, torch::ones({kCount}, torch::kFloat64)));
  }
}

TEST(TimeLaw, EachItemHasItsOwnStratum) {
  for (const TimeLawKind kind : {TimeLawKind::uniform, TimeLawKind::decision, TimeLawKind::information}) {
    const TimeLaw law(kind, line(), kT1);  // unlearned, the information law is uniform too
    const auto t = test::values_of(draw(law, 7, 100).t);
    constexpr double kSingle = 1e-6;  // times are computed in float32
    for (size_t b = 0; b < t.size(); ++b) {
      EXPECT_GE(t[b], law.t_max() * static_cast<double>(b) / 100.0 - kSingle);
      EXPECT_LE(t[b], law.t_max() * static_cast<double>(b + 1) / 100.0 + kSingle);
    }
    EXPECT_GT(max_difference(draw(law, 107, 100).t, test::tensor_of(t)),
              1e-4);  // drawn, not a grid
  }
}

TEST(TimeLaw, TimesStayBeforeTheEndOfThePath) {
  // At t = 1 the path has no noise and its coefficients divide by 0. Look for a draw that rounds up to it: the last
  // item of a batch with a number close to 1.
  const TimeLaw law(TimeLawKind::uniform, line(), kT1);
  const auto u = fill_uniform(torch::empty({1 << 20}), kTimes, 0);
  const auto index = u.argmax().item<int64_t>();
  constexpr int64_t kBatch = 1024;
  ASSERT_GE(index, kBatch);
  const auto t = draw(law, static_cast<uint64_t>(index - kBatch + 1), kBatch).t;
  EXPECT_LT(t.max().item<double>(), 1.0);
}

TEST(TimeLaw, AnEndlessPathHasNoUniformLaw) {
  const std::string message = test::input_error([] { TimeLaw(TimeLawKind::uniform, make_ray(0.5), kT1); });
  EXPECT_NE(message.find("the ray path has no end"), std::string::npos) << message;
  EXPECT_EQ(TimeLaw(TimeLawKind::decision, make_ray(0.5), 12.0).t_max(), 12.0);
}

TEST(TimeLaw, InformationLawLooksWhereTheErrorIs) {
  const double from = 0.2 * kT1;
  const double to = 0.3 * kT1;
  const auto t = draw(learned(from, to, false), 0, kCount).t;
  EXPECT_GT(share_within(t, from - kT1 / 64, to + kT1 / 64), 0.85);  // a tenth stays uniform
  EXPECT_GT(share_within(t, 0.5 * kT1, kT1), 0.04);                  // so half of it is in the upper half
}

TEST(TimeLaw, InformationIsErrorTimesTheGrowthOfTheSignal) {
  // Constant error: bins are visited in proportion to 1/2 d/dt (a/s)^2, which is t/(1-t)^3 on the e-geodesic.
  const auto t = draw(learned(0.0, 1.0, false), 0, 1 << 16).t;
  const auto snr = [](double x) { return 0.5 * std::pow(x / (1.0 - x), 2); };
  for (const double part : {0.25, 0.5, 0.75}) {
    const double expected = 0.1 * part + 0.9 * snr(part * kT1) / snr(kT1);
    EXPECT_NEAR(share_within(t, 0.0, part * kT1), expected, 0.005) << part;  // a running mean over noisy batches
  }
}

TEST(TimeLaw, WeightsMakeUpForTheLaw) {
  const auto [t, weight] = draw(learned(0.2 * kT1, 0.3 * kT1, true), 0, kCount);
  EXPECT_GT(weight.std().item<double>(), 0.5);  // there is something to correct
  EXPECT_LE(weight.max().item<double>(), 10.0 * (1 + 1e-6));
  // Means over uniform times; stratified, so that errors are of the order of one item's weight.
  constexpr double kStratifiedTol = 10.0 / kCount;
  EXPECT_NEAR(weight.mean().item<double>(), 1.0, kStratifiedTol);
  EXPECT_NEAR((weight * t).mean().item<double>(), kT1 / 2, kStratifiedTol);
  EXPECT_NEAR((weight * t * t).mean().item<double>(), kT1 * kT1 / 3, kStratifiedTol);
}

TEST(TimeLaw, WithoutReweightAllItemsCountTheSame) {
  const auto weight = draw(learned(0.2 * kT1, 0.3 * kT1, false), 0, 100).weight;
  EXPECT_TRUE(torch::equal(weight, torch::ones({100}, torch::kFloat64)));
}

TEST(TimeLaw, StateRestoresTheLaw) {
  const auto law = learned(0.2 * kT1, 0.3 * kT1, true);
  TimeLaw other(TimeLawKind::information, line(), kT1, true);
  EXPECT_GT(max_difference(draw(other, 0, 100).t, draw(law, 0, 100).t), 0.01);
  other.load(law.state());
  EXPECT_TRUE(torch::equal(draw(other, 0, 100).t, draw(law, 0, 100).t));
  EXPECT_TRUE(torch::equal(draw(other, 0, 100).weight, draw(law, 0, 100).weight));
}

TEST(TimeLaw, AllButTheUniformLawHaveState) {
  TimeLaw law(TimeLawKind::uniform, line(), kT1);
  EXPECT_TRUE(law.state().empty());
  EXPECT_NO_THROW(law.load({}));
  EXPECT_TRUE(std::isnan(law.nats()));
  TimeLaw information(TimeLawKind::information, line(), kT1);
  EXPECT_EQ(test::input_error([&] { information.load({}); }),
            "the checkpoint has no tensor time_law.sum of 64 numbers");
}

TEST(TimeLaw, TheRunningMeanStartsFromTheFirstBatch) {
  TimeLaw law(TimeLawKind::decision, line(), kT1);
  EXPECT_TRUE(std::isnan(law.nats()));  // nothing is known yet
  const auto t = draw(law, 0, kCount).t;
  law.learn(t, torch::full({kCount}, 3.0));
  // A constant error e gives e/2 (a/s)^2 at t1; times are stratified, 64 a bin.
  EXPECT_NEAR(law.nats(), 1.5 * std::pow(kT1 / (1.0 - kT1), 2), 0.01);
}

TEST(TimeLaw, LearnsFromTheMarkedItemsOnly) {
  TimeLaw some(TimeLawKind::decision, line(), kT1);
  TimeLaw alone(TimeLawKind::decision, line(), kT1);
  const auto t = draw(some, 0, kCount).t;
  const auto error = test::noise({kCount}).abs();
  const auto which = test::noise({kCount}, 2) > 0.0;
  some.learn(t, torch::where(which, error, 1e3 * error), which);
  alone.learn(t.masked_select(which), error.masked_select(which));
  // Means of some thirty numbers of size 1 to 30, summed in another order.
  for (const std::string& name : TimeLaw::state_names())
    EXPECT_LT(max_difference(some.state().at(name), alone.state().at(name)), 1e-12) << name;
}

TEST(TimeLaw, BinsNotYetSeenCountAsTheOthersDo) {
  TimeLaw law(TimeLawKind::information, line(), kT1);
  law.learn(torch::full({8}, 0.3), torch::ones({8}));
  const auto t = draw(law, 0, kCount).t;
  EXPECT_NEAR(share_within(t, 0.0, 0.5 * kT1), 0.5, 2.0 / kCount);
}

TEST(TimeLaw, NatsOfAnExactModelAreTheEntropyOfTheData) {
  const test::Threads one_thread(1);
  // The simulation-free bound: with the exact endpoint the integral of the information is the entropy.
  const JointOracle oracle(test::random_joint(test::binary_space(3)), line());
  const JointSampler data(oracle.table());
  const auto p = oracle.table().p;
  const double entropy = -(p * p.log()).sum().item<double>();
  for (const TimeLawKind kind : {TimeLawKind::decision, TimeLawKind::information}) {
    TimeLaw law(kind, line(), 0.6);
    constexpr int64_t kBatch = 512;
    for (uint64_t step = 0; step < 1000; ++step) {
      const auto t = draw(law, step * kBatch, kBatch).t;
      const auto labels = data.draw({1, Purpose::training_data}, step * kBatch, kBatch);
      const auto x =
          sample_path(oracle.space(), oracle.path(), labels, t, {1, Purpose::probe}, step * kBatch, WithVelocity::no);
      // The oracle takes one time; its posterior depends on v and t through the evidence alone.
      const auto hot = one_hot(oracle.space(), oracle.table().labelings, torch::kFloat64);
      const auto e = x.v_t * evidence_scale(oracle.space(), oracle.path(), t);
      const auto D = mean_corner(oracle.space(), oracle.path(), (e.mm(hot.t()) + p.log()).softmax(1).mm(hot));
      law.learn(t, squared_norm(corners(oracle.space(), oracle.path(), labels, torch::kFloat64) - D));
    }
    // A running mean over about 100 batches of 8 items per bin: one per cent or two of noise.
    EXPECT_NEAR(law.nats() / entropy, 1.0, 0.06) << "law " << static_cast<int>(kind);
  }
}

TEST(TimeLaw, SpreadOfACheckpointFollowsTheRootOfTheInformation) {
  const double t1 = 0.5;
  // Without a law times are uniform.
  const auto u = torch::tensor({0.25, 0.75}, torch::kFloat64);
  EXPECT_LT(test::max_difference(TimeLaw::spread({}, t1).at(u).t, u * t1), 1e-12);
  auto sum = torch::ones({64}, torch::kFloat64);
  sum.slice(0, 32, 64) = 9.0;  // the later half has nine times the information: three times the density
  const auto density = TimeLaw::spread({{"time_law.sum", sum}, {"time_law.mass", torch::ones_like(sum)}}, t1);
  const auto [t, p] = density.at(torch::tensor({0.01, 0.99}, torch::kFloat64));
  const double uniform = kUniformShare / t1;
  EXPECT_NEAR((p[1].item<double>() - uniform) / (p[0].item<double>() - uniform), 3.0, 1e-9);
}

TEST(TimeLaw, ACheckpointsSpreadOfAnotherShapeIsRefused) {
  const auto error = [](const torch::Tensor& sum, const torch::Tensor& mass) {
    return test::input_error([&] { TimeLaw::spread({{"time_law.sum", sum}, {"time_law.mass", mass}}, 0.5); });
  };
  const auto good = torch::ones({64}, torch::kFloat64);
  EXPECT_EQ(error(good, good), "");
  EXPECT_EQ(error(torch::ones({3}), good),
            "the checkpoint's tensor time_law.sum has shape [3], expected 64 finite numbers");
  EXPECT_EQ(error(good, torch::ones({0})),
            "the checkpoint's tensor time_law.mass has shape [0], expected 64 finite numbers");
  EXPECT_EQ(error(torch::ones({8, 8}), good),
            "the checkpoint's tensor time_law.sum has shape [8, 8], expected 64 finite numbers");
  EXPECT_NE(error(good * std::numeric_limits<double>::quiet_NaN(), good), "");
}

}  // namespace
}  // namespace segre::time_law_test
