#include "segre/flow/sampler.h"

#include <cmath>
#include <set>

#include "segre/model/joint_oracle.h"
#include "segre/net/latent_class.h"
#include "segre/net/mlp.h"
#include "segre/path/e_geodesic.h"
#include "segre/path/ray.h"
#include "segre/path/simplex.h"
#include "segre/sources/toys.h"
#include "segre/space/blocks.h"
#include "tests/support/at_once.h"
#include "tests/support/messages.h"
#include "tests/support/reference.h"
#include "tests/support/samplers.h"
#include "tests/support/statistics.h"
#include "tests/support/support.h"
#include "tests/support/threads.h"

namespace segre::sampler_test {
namespace {

using test::contains;
using test::input_error;
using test::kSigmas;
using test::Threads;

// Evidence form with an MLP whose last layer is 0: exactly Bayes' rule for independent uniform variables.
Model uniform_model(const Space& space, std::shared_ptr<const Path> path = make_e_geodesic(0.01)) {
  NetOptions options;
  options.kind = "mlp";
  options.of<MlpOptions>().hidden = {16};
  return {space, std::move(path), Form::evidence, make_field(space, options, 1)};
}

// The exact field of the coupled pair as a mixture of two products: each class prefers one label by q, where
// (q^2 + (1-q)^2)/2 = 0.45.
Model coupled_model(torch::Device device = torch::kCPU) {
  const Space space = coupled_binary().space;
  NetOptions options;
  options.kind = "latent_class";
  options.of<LatentClassOptions>().classes = 2;
  auto field = make_field(space, options, 1);
  const double q = 0.5 * (1.0 + std::sqrt(0.8));
  const auto probabilities = torch::tensor({{q, 1 - q, q, 1 - q}, {1 - q, q, 1 - q, q}});
  for (const auto& [name, parameter] : field->parameters()) {
    const torch::NoGradGuard no_grad;
    parameter.copy_(name == "class_logits" ? torch::zeros({2}) : probabilities.log());
  }
  field->to(device);
  return {space, make_e_geodesic(0.01), Form::evidence, std::move(field)};
}

JointTable uniform_table(const Space& space) {
  const auto labelings = enumerate_labelings(space);
  return make_joint_table(space, labelings, torch::ones({labelings.size(0)}));
}

constexpr int64_t kMany = 200'000;

TEST(Sampler, SampleKDoesNotDependOnTheSplitForAnySampler) {
  const Threads one(1);
  for (const std::string& name : test::sampler_names()) {
    const Sampler sampler(coupled_model(), {.sampler = name}, 7);
    const int64_t rows = sampler.rows_per_block();
    const auto whole = sampler.draw(0, 2 * rows + 100);
    const Samples parts[] = {sampler.draw(0, 1), sampler.draw(1, rows + 6),
                             sampler.draw(static_cast<uint64_t>(rows) + 7, rows + 93)};
    EXPECT_TRUE(torch::equal(whole.labels, torch::cat({parts[0].labels, parts[1].labels, parts[2].labels}))) << name;
    EXPECT_EQ(whole.n_evaluations, parts[0].n_evaluations + parts[1].n_evaluations + parts[2].n_evaluations) << name;
    EXPECT_TRUE(
        torch::equal(sampler.draw(static_cast<uint64_t>(rows), 5).labels, whole.labels.slice(0, rows, rows + 5)))
        << name;
  }
}

TEST(Sampler, SampleKDoesNotDependOnTheSplitWhenLabelsAreDrawn) {
  const Threads one(1);
  const Sampler sampler(uniform_model(test::mixed_space()), {.t1 = 0.1, .readout = Readout::matched}, 7);
  const auto whole = sampler.draw(0, 5000).labels;
  EXPECT_TRUE(torch::equal(whole, torch::cat({sampler.draw(0, 4000).labels, sampler.draw(4000, 1000).labels})));
}

TEST(Sampler, SamplesDoNotDependOnTheNumberOfThreads) {
  torch::Tensor labels[2];
  for (const int threads : {1, 2}) {
    const Threads now(threads);
    labels[threads - 1] = Sampler(coupled_model(), {}, 7).draw(0, 5000).labels;
  }
  EXPECT_TRUE(torch::equal(labels[0], labels[1]));
}

TEST(Sampler, TheSeedDecides) {
  const Threads one(1);
  const auto labels = Sampler(coupled_model(), {}, 7).draw(0, 1000).labels;
  EXPECT_TRUE(torch::equal(labels, Sampler(coupled_model(), {}, 7).draw(0, 1000).labels));
  EXPECT_FALSE(torch::equal(labels, Sampler(coupled_model(), {}, 8).draw(0, 1000).labels));
}

TEST(Sampler, CountsTheEvaluationsOfEachSampler) {
  const Threads one(1);
  // With 7 steps: to the decision time, and to t = 1, where the last step is one evaluation of the endpoint.
  const std::tuple<const char*, int64_t, int64_t> expected[] = {{"euler", 7, 7},  {"midpoint", 14, 13},
                                                                {"heun", 14, 13}, {"rk4", 28, 25},
                                                                {"ab2", 8, 8},    {"multistep", 7, 7},
                                                                {"early", 7, 7},  {"sde", 7, 7},
                                                                {"erasure", 2, 2}};  // one per variable is all it needs
  for (const auto& [name, decision, end] : expected) {
    EXPECT_EQ(Sampler(coupled_model(), {.sampler = name, .steps = 7}, 1).draw(0, 3).n_evaluations, 3 * decision)
        << name;
    EXPECT_EQ(Sampler(coupled_model(), {.sampler = name, .steps = 7, .stop = Stop::end}, 1).draw(0, 3).n_evaluations,
              3 * end)
        << name;
  }
  // The adaptive one takes one evaluation first and six per attempt, a different number for each sample.
  const Sampler adaptive(coupled_model(), {.sampler = "dopri5", .tolerance = 1e-4}, 1);
  std::set<int64_t> counts;
  for (uint64_t k = 0; k < 50; ++k) counts.insert(adaptive.draw(k, 1).n_evaluations);
  EXPECT_GT(counts.size(), 1U);
  for (const int64_t count : counts) EXPECT_EQ(count % 6, 1);
}

TEST(Sampler, StopsWhereItIsTold) {
  const Model model = coupled_model();
  EXPECT_EQ(Sampler(model, {}, 1).t1(), decision_time(model.space(), model.path()));
  EXPECT_EQ(Sampler(model, {.stop = Stop::end}, 1).t1(), 1.0);
  EXPECT_EQ(Sampler(model, {.stop = Stop::end, .t1 = 0.25}, 1).t1(), 0.25);
  EXPECT_EQ(Sampler(model, {.t1 = 1.0}, 1).t1(), 1.0) << "the end itself";
  EXPECT_EQ(Sampler(model, {.steps = 4, .t1 = 0.5}, 1).times(), (std::vector<double>{0.0, 0.125, 0.25, 0.375, 0.5}));
}

TEST(Sampler, IndependentUniformVariablesAreUniform) {
  const Threads one(1);
  const Space space = test::mixed_space();
  for (const Readout readout : {Readout::argmax, Readout::matched})
    for (const Stop stop : {Stop::decision, Stop::end}) {
      const Sampler sampler(uniform_model(space), {.sampler = "midpoint", .steps = 3, .stop = stop, .readout = readout},
                            3);
      EXPECT_LT(std::abs(test::chi_square_sigmas(uniform_table(space), sampler.draw(0, kMany).labels)), kSigmas);
    }
}

TEST(Sampler, TheExactFieldGivesTheCoupledDistribution) {
  const Threads one(1);
  // 10 steps of order 4: the flow's own error is far below what 200,000 samples show.
  for (const Stop stop : {Stop::decision, Stop::end}) {
    const Sampler sampler(coupled_model(), {.steps = 10, .stop = stop}, 3);
    EXPECT_LT(std::abs(test::chi_square_sigmas(coupled_binary(), sampler.draw(0, kMany).labels)), kSigmas);
  }
}

// A random joint of 2, 3 and 4 labels and its exact flow, which the sampler uses like a model's.
TEST(Sampler, EverySamplerGivesTheDistributionOfAnExactFlow) {
  const Threads one(1);
  const JointTable table = test::random_joint(test::small_mixed_space());
  const Flow flow = flow_of(JointOracle(table, make_e_geodesic(0.01)));
  // Enough steps that the schemes' own errors are far below what these samples show; sde's is of first order only.
  const std::pair<const char*, int64_t> enough[] = {{"euler", 200}, {"midpoint", 25},  {"heun", 25},  {"rk4", 10},
                                                    {"ab2", 50},    {"multistep", 50}, {"early", 50}, {"dopri5", 1},
                                                    {"sde", 100},   {"erasure", 3}};  // one variable at a time is exact
  constexpr int64_t kCount = 15'000;
  for (const auto& [name, steps] : enough) {
    const Sampler sampler(flow, {.sampler = name, .steps = steps}, 3);
    EXPECT_LT(std::abs(test::chi_square_sigmas(table, sampler.draw(0, kCount).labels)), kSigmas) << name;
  }
  // A far too long step of sde is detected.
  const Sampler coarse(flow, {.sampler = "sde", .steps = 2}, 3);
  EXPECT_GT(test::chi_square_sigmas(table, coarse.draw(0, kCount).labels), kSigmas);
}

// Ten variables that follow one of four patterns, each with exceptions: much is decided early, where even steps are too
// long.
TEST(Sampler, ShortStepsFirstNeedFewEvaluationsWhereMuchDependsOnMuch) {
  const Threads one(1);
  constexpr int64_t kVariables = 10;
  const Space space = test::binary_space(kVariables);
  const auto labelings = enumerate_labelings(space);
  auto p = torch::zeros({labelings.size(0)}, torch::kFloat64);
  for (uint64_t pattern = 1; pattern <= 4; ++pattern) {
    const auto exceptions = (labelings != (test::noise({kVariables}, pattern) < 0.0).to(torch::kInt64)).sum(1);
    p += torch::pow(0.05, exceptions) * torch::pow(0.95, kVariables - exceptions);
  }
  const Flow flow = flow_of(JointOracle(make_joint_table(space, labelings, p / p.sum()), make_e_geodesic(0.01)));
  constexpr int64_t kCount = 1000;
  const auto labels = [&](const char* sampler, int64_t steps) {
    return Sampler(flow, {.sampler = sampler, .steps = steps}, 3).draw(0, kCount).labels;
  };
  const auto exact = labels("rk4", 40);
  const auto differing = [&](const char* sampler, int64_t steps) {
    return (labels(sampler, steps) != exact).to(torch::kFloat64).mean().item<double>();
  };
  const double early = differing("early", 8);
  EXPECT_LT(early, 0.01);
  EXPECT_LT(early, differing("multistep", 8));
  EXPECT_LT(early, 0.5 * differing("rk4", 2)) << "8 evaluations, too";
}

TEST(Sampler, ADistributionThatIsNotTheModelsIsToldApart) {
  const Threads one(1);
  const Sampler sampler(coupled_model(), {}, 3);
  EXPECT_GT(test::chi_square_sigmas(uniform_table(coupled_binary().space), sampler.draw(0, kMany).labels), kSigmas);
}

// Early on the path labels are open, so that the two readouts differ and most variables are undecided.
constexpr double kEarly = 0.1;

struct EarlyReadout {
  Sampler sampler;
  torch::Tensor probability;  // [B, S] of the readout
  torch::Tensor best;         // [B, n] the largest of each variable
  torch::Tensor first;        // [B, n] its label

  explicit EarlyReadout(Readout readout)
      : sampler(uniform_model(test::mixed_space()), {.t1 = kEarly, .readout = readout}, 5) {
    const auto v = sampler.trajectories(sampler.rows_per_block())[-1];
    const Space space = test::mixed_space();
    probability =
        readout == Readout::segre ? lift(space, v) : matched_readout(space, *make_e_geodesic(0.01), v, kEarly).exp();
    best = reduce_blocks(space, {probability}, [](const auto& in) { return in[0].amax(-1); }).to(torch::kFloat64);
    first = argmax_labels(space, v);
  }
  torch::Tensor labels() const { return sampler.draw(0, sampler.rows_per_block()).labels; }
};

TEST(Sampler, TheArgmaxReadoutTakesTheLargestCoordinate) {
  const Threads one(1);
  const EarlyReadout early(Readout::argmax);
  EXPECT_TRUE(torch::equal(early.labels(), early.first));
}

// The likeliest label comes as often as its probability says: a sum of independent Bernoulli variables.
void expect_draws(const EarlyReadout& early) {
  const double hits = (early.labels() == early.first).sum().item<double>();
  const double mean = early.best.sum().item<double>();
  const double deviation = std::sqrt((early.best * (1 - early.best)).sum().item<double>());
  EXPECT_LT(std::abs(hits - mean), kSigmas * deviation);
  EXPECT_LT(mean + kSigmas * deviation, static_cast<double>(early.best.numel())) << "else argmax would pass too";
}

TEST(Sampler, TheMatchedReadoutDrawsFromBayesRule) {
  const Threads one(1);
  expect_draws(EarlyReadout(Readout::matched));
}

TEST(Sampler, TheSegreReadoutDrawsFromTheStateOnTheManifold) {
  const Threads one(1);
  const EarlyReadout segre(Readout::segre);
  expect_draws(segre);
  // A law other than Bayes' rule on the same states.
  const double difference = (segre.best.mean() - EarlyReadout(Readout::matched).best.mean()).item<double>();
  EXPECT_GT(std::abs(difference), 0.01);
}

// A flow that only scales its noise, by the same factor in every row: the readout is known to the bit.
Flow shrinking_flow(const Space& space) {
  const auto path = make_e_geodesic(0.01);
  const StateFunction zero = [](const State& state) { return torch::zeros_like(state.v); };
  return {.space = space,
          .path = path,
          .options = torch::kFloat64,
          .endpoint = zero,
          .velocity = [=](const State& at) { return velocity_from_endpoint(*path, zero(at), at.v, at.t); },
          .n_activations = int64_t{1} << 21};  // blocks of 16 rows
}

TEST(Sampler, EveryDrawnLabelHasAUniformOfItsOwn) {
  const Threads one(1);
  const Space space = test::mixed_space();
  const Sampler sampler(shrinking_flow(space), {.t1 = kEarly, .readout = Readout::matched}, 5);
  const int64_t count = 3 * sampler.rows_per_block();
  const auto p = matched_readout(space, *make_e_geodesic(0.01), sampler.trajectories(count)[-1], kEarly).exp();
  // Variable i of sample k is decided by number k n + i of the stream, whatever block the sample is in.
  const auto u = fill_uniform(torch::empty({count, space.n_variables()}, torch::kFloat64), {5, Purpose::readout}, 0);
  auto expected = torch::zeros({count, space.n_variables()}, torch::kInt64);
  for (int64_t k = 0; k < count; ++k)
    for (int64_t i = 0; i < space.n_variables(); ++i) {
      double below = 0.0;
      int64_t label = -1;
      while (below <= u[k][i].item<double>() && label + 1 < space.n_labels(i))
        below += p[k][space.offset(i) + ++label].item<double>();
      expected[k][i] = label;
    }
  EXPECT_TRUE(torch::equal(sampler.draw(0, count).labels, expected));
}

TEST(Sampler, CountsUndecidedVariables) {
  const Threads one(1);
  const EarlyReadout early(Readout::argmax);
  const int64_t open = (early.best < kDecided).sum().item<int64_t>();
  EXPECT_GT(open, 0);
  EXPECT_EQ(early.sampler.draw(0, early.sampler.rows_per_block()).n_undecided, open);
  // At the decision time labels err with chance at most 1e-5; 99% certainty is missed a few hundred times as often.
  const auto decided = Sampler(uniform_model(test::mixed_space()), {}, 5).draw(0, 4000);
  EXPECT_LT(decided.n_undecided, decided.labels.numel() / 100);
}

// The corner of a decided label is smoothed by eps, which does not make it undecided.
TEST(Sampler, AtThePathsEndLabelsAreDecidedForEveryEps) {
  const Threads one(1);
  const JointTable table = test::random_joint(test::small_mixed_space());
  for (const double eps : {0.001, 0.05, 0.4})
    for (const Readout readout : {Readout::argmax, Readout::matched, Readout::segre}) {
      const Flow flow = flow_of(JointOracle(table, make_e_geodesic(eps)));
      const auto samples = Sampler(flow, {.steps = 40, .stop = Stop::end, .readout = readout}, 5).draw(0, 1000);
      EXPECT_LT(samples.n_undecided, samples.labels.numel() / 50) << eps;
    }
  // One step lands on the mean corner of the noise, which decides nothing.
  const auto samples = Sampler(uniform_model(test::mixed_space()), {.steps = 1, .stop = Stop::end}, 5).draw(0, 100);
  EXPECT_EQ(samples.n_undecided, samples.labels.numel());
}

TEST(Sampler, TrajectoriesStartAtTheNoiseAndHaveEveryTime) {
  const Threads one(1);
  const Sampler sampler(coupled_model(), {.steps = 6}, 5);
  const auto states = sampler.trajectories(10);
  EXPECT_EQ(states.sizes(), (std::vector<int64_t>{7, 10, 4}));
  EXPECT_EQ(sampler.times().size(), 7U);
  EXPECT_TRUE(torch::equal(argmax_labels(coupled_binary().space, states[-1]), sampler.draw(0, 10).labels));
}

TEST(Sampler, TrajectoriesOfTheAdaptiveSamplerAreItsTwoEnds) {
  const Threads one(1);
  const Sampler sampler(coupled_model(), {.sampler = "dopri5"}, 5);
  const auto states = sampler.trajectories(sampler.rows_per_block());
  EXPECT_EQ(states.size(0), 2);
  EXPECT_EQ(sampler.times(), (std::vector<double>{0.0, sampler.t1()}));
  EXPECT_TRUE(torch::equal(argmax_labels(coupled_binary().space, states[-1]),
                           sampler.draw(0, sampler.rows_per_block()).labels));
}

TEST(Sampler, WeightsThatAreNoNumbersAreReported) {
  const Threads one(1);
  const Model model = coupled_model();
  model.field().parameters()[0].second.detach().fill_(std::nan(""));
  for (const char* name : {"rk4", "multistep", "sde"})
    EXPECT_TRUE(contains(test::any_error([&] { Sampler(model, {.sampler = name}, 1).draw(0, 5); }), "not finite"))
        << name;
}

TEST(Sampler, AnUnknownSamplerAndATimeBeyondThePathAreRefused) {
  EXPECT_TRUE(contains(input_error([] { Sampler(coupled_model(), {.sampler = "rk5"}, 1); }), "rk5"));
  EXPECT_EQ(input_error([] { Sampler(coupled_model(), {.t1 = 1.5}, 1); }), "sample.t1 = 1.5: the path ends at 1");
}

TEST(Sampler, TheRayHasNoEnd) {
  const Model ray = uniform_model(test::binary_space(2), make_ray(0.5));
  EXPECT_EQ(input_error([&] { Sampler(ray, {.stop = Stop::end}, 1); }),
            "sample.stop = \"end\": the ray path has no end; choose \"decision\" or set sample.t1");
  EXPECT_EQ(Sampler(ray, {.stop = Stop::end, .t1 = 12.0}, 1).t1(), 12.0);
}

TEST(Sampler, GraphsGiveTheSamplesOfTheCpuForAnySampler_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  for (const std::string& name : test::sampler_names())
    for (const Stop stop : {Stop::decision, Stop::end}) {
      const SampleOptions options{.sampler = name, .steps = 6, .stop = stop};
      const Sampler sampler(coupled_model(torch::kCUDA), options, 7);
      const auto labels = sampler.draw(0, 2000).labels;
      // The noise has the same bits; what rounds differently decides a label a few times in ten thousand.
      const auto expected = Sampler(coupled_model(), options, 7).draw(0, 2000).labels;
      EXPECT_LT((labels != expected).to(torch::kFloat64).mean().item<double>(), 2e-3) << name;
      // Replays and plain calls, the same samples in different requests.
      EXPECT_TRUE(torch::equal(sampler.draw(300, 900).labels, labels.slice(0, 300, 1200))) << name;
    }
}

// Half of the threads share a sampler, the others make their own for the same model.
TEST(Sampler, SeveralThreadsAtOnceGetTheSamplesOfOne_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const Model model = coupled_model(torch::kCUDA);
  for (const std::string& name : test::sampler_names()) {
    const SampleOptions options{.sampler = name, .steps = 6};
    const Sampler shared(model, options, 7);
    const auto labels = shared.draw(0, 1200).labels;
    test::at_once(4, [&](int thread) {
      for (int k = 0; k < 3; ++k) {
        const auto found = (thread % 2 == 0 ? shared.draw(0, 1200) : Sampler(model, options, 7).draw(0, 1200)).labels;
        EXPECT_TRUE(torch::equal(found, labels)) << name << ", thread " << thread;
      }
    });
  }
}

TEST(Sampler, NoSamplesAreAnEmptyTable) {
  EXPECT_EQ(Sampler(coupled_model(), {}, 1).draw(0, 0).labels.sizes(), (std::vector<int64_t>{0, 2}));
}

TEST(Sampler, RefusesToDrawLessThanNothing) {
  const Sampler sampler(uniform_model(test::binary_space(2)), {}, 1);
  EXPECT_EQ(sampler.draw(0, 0).labels.sizes(), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(input_error([&] { sampler.draw(0, -5); }), "-5 samples requested, expected 0 or more");
  EXPECT_EQ(input_error([&] { sampler.trajectories(0); }), "0 trajectories requested, expected 1 or more");
}

}  // namespace
}  // namespace segre::sampler_test
