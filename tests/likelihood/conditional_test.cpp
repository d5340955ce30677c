// Conditional likelihoods and samples of the exact flow against the exact conditionals of a known joint distribution.

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "segre/flow/flow.h"
#include "segre/flow/sampler.h"
#include "segre/likelihood/flow_bound.h"
#include "segre/likelihood/free_bound.h"
#include "segre/likelihood/order_bound.h"
#include "segre/model/joint_oracle.h"
#include "segre/path/e_geodesic.h"
#include "segre/path/simplex.h"
#include "segre/space/blocks.h"
#include "tests/support/statistics.h"
#include "tests/support/support.h"

namespace segre::conditional_test {
namespace {

// Six binary variables, one variable each with 2, 3, 5 and 7 labels, and a space of two parts.
std::vector<JointTable> joints() {
  return {test::random_joint(Space::sequence(6, 2), 3),
          test::random_joint(Space::table({{"a", 2, {}}, {"b", 3, {}}, {"c", 5, {}}, {"d", 7, {}}}), 4),
          test::random_joint(test::image_with_class(), 5)};
}

JointOracle oracle_of(const JointTable& table) { return {table, make_e_geodesic(0.01)}; }

// Log-likelihoods of every label, [S]: moderate ones.
torch::Tensor some_soft(const Space& space, uint64_t seed) {
  return fill_normal(torch::empty({space.n_coordinates()}, torch::kFloat64), {seed, Purpose::probe}, 0);
}

// Sets of given variables: neither none nor all.
std::vector<torch::Tensor> given_sets(int64_t n, int64_t count) {
  std::vector<torch::Tensor> sets;
  for (int64_t k = 0; static_cast<int64_t>(sets.size()) < count; ++k) {
    const auto u = fill_uniform(torch::empty({n}), {static_cast<uint64_t>(k), Purpose::probe}, 0);
    const auto given = u < 0.5;
    const auto n_given = given.sum().item<int64_t>();
    if (n_given > 0 && n_given < n) sets.push_back(given);
  }
  return sets;
}

// Scores all labelings given a set of variables and compares with the exact log p(x_U | x_K) and with the sum over the
// completions of each x_K, which is 1. Adds up squared deviations in standard errors.
struct Deviations {
  double sum = 0.0;
  int64_t count = 0;
  int64_t patterns = 0;
  double worst_sum = 0.0;             // deviation of a sum of probabilities from 1, in standard errors
  double bias = 0.0, variance = 0.0;  // of the deviations in nats

  void add(const JointOracle& oracle, const torch::Tensor& soft, const torch::Tensor& given, const ItemScores& scores,
           double least_error) {
    const auto labels = enumerate_labelings(oracle.space());
    Known known = known_of(labels, given);
    if (soft.defined()) known.soft = soft.unsqueeze(0).expand({labels.size(0), -1});
    const auto exact = oracle.conditional_log_p(labels, known);
    const auto error = total_error(scores).clamp_min(least_error);
    sum += ((scores.log_p - exact) / error).square().sum().item<double>();
    count += labels.size(0);
    bias += (scores.log_p - exact).sum().item<double>();
    variance += error.square().sum().item<double>();
    // Group by the given labels: their own numbers.
    std::map<std::string, std::pair<double, double>> sums;
    for (int64_t k = 0; k < labels.size(0); ++k) {
      std::string key;
      for (int64_t i = 0; i < labels.size(1); ++i)
        key += given[i].item<bool>() ? std::to_string(labels[k][i].item<int64_t>()) + "," : "_,";
      const double p = std::exp(scores.log_p[k].item<double>());
      sums[key].first += p;
      sums[key].second += std::pow(p * error[k].item<double>(), 2);
    }
    patterns += static_cast<int64_t>(sums.size());
    for (const auto& [key, total] : sums)
      worst_sum = std::max(worst_sum, std::abs(total.first - 1.0) / std::sqrt(total.second));
  }
};

constexpr int64_t kSets = 24;  // at least 200 patterns of known labels for each joint

TEST(ConditionalBound, FreeIsExactForTheExactFlow) {
  for (const JointTable& table : joints()) {
    const JointOracle oracle = oracle_of(table);
    Deviations found;
    int64_t number = 0;
    for (const auto& given : given_sets(oracle.space().n_variables(), kSets)) {
      const auto soft = number % 3 == 2 ? some_soft(oracle.space(), number) : torch::Tensor();
      const Flow flow = soft.defined() ? with_evidence(flow_of(oracle), soft) : flow_of(oracle);
      // With one seed for all, an item's errors given different variables would go in the same direction.
      const uint64_t seed = 7 + static_cast<uint64_t>(number);
      const FreeBound bound(flow, TimeDensity(1.0), {.times = 256, .seed = seed, .given = given});
      found.add(oracle, soft, given, bound(enumerate_labelings(oracle.space())), 1e-6);
      ++number;
    }
    EXPECT_GE(found.patterns, 200);
    // Thousands of scores together show a bias of a hundredth of their errors. Each error is estimated from 64 strata
    // with long tails, so deviations in units of it are wider than normal ones.
    EXPECT_LT(std::abs(found.bias) / std::sqrt(found.variance), 4.5);
    EXPECT_LT(found.sum / static_cast<double>(found.count), 2.0);
    EXPECT_LT(found.worst_sum, 5.0);  // of some hundred sums
  }
}

TEST(ConditionalBound, PathIsExactForTheExactFlow) {
  for (const JointTable& table : joints()) {
    const JointOracle oracle = oracle_of(table);
    double worst = 0.0;
    int64_t number = 0;
    for (const auto& given : given_sets(oracle.space().n_variables(), 3)) {
      const auto soft = number++ % 3 == 2 ? some_soft(oracle.space(), number) : torch::Tensor();
      const Flow flow = soft.defined() ? with_evidence(flow_of(oracle), soft) : flow_of(oracle);
      const auto labels = enumerate_labelings(oracle.space()).slice(0, 0, c10::nullopt, 11);
      const ItemScores scores = mean_of_weights(FlowBound(flow, {.draws = 1, .panels = 4, .given = given})(labels));
      Known known = known_of(labels, given);
      if (soft.defined()) known.soft = soft.unsqueeze(0).expand({labels.size(0), -1});
      const auto gap = (scores.log_p - oracle.conditional_log_p(labels, known)).abs();
      worst = std::max(worst, gap.max().item<double>());
    }
    // One draw suffices for an exact flow; what is left is quadrature and misreading (1e-5).
    EXPECT_LT(worst, 2e-3);
  }
}

TEST(ConditionalBound, OrderIsExactForExactMarginals) {
  for (const JointTable& table : joints()) {
    const JointOracle oracle = oracle_of(table);
    const auto labels = enumerate_labelings(oracle.space());
    Deviations any;
    int64_t number = 0;
    for (const auto& given : given_sets(oracle.space().n_variables(), kSets)) {
      const auto soft = number % 3 == 2 ? some_soft(oracle.space(), number) : torch::Tensor();
      const Flow flow = soft.defined() ? with_evidence(flow_of(oracle), soft) : flow_of(oracle);
      Known known = known_of(labels, given);
      if (soft.defined()) known.soft = soft.unsqueeze(0).expand({labels.size(0), -1});
      const auto exact = oracle.conditional_log_p(labels, known);
      // Every order gives the exact answer: the chain rule.
      for (const LabelOrder order : {LabelOrder::left_to_right, LabelOrder::random}) {
        const ItemScores scores = OrderBound(flow, {.order = order, .given = given})(labels);
        EXPECT_LT(test::max_difference(scores.log_p, exact), 1e-9);
      }
      any.add(oracle, soft, given, OrderBound(flow, {.times = 64, .given = given})(labels), 1e-9);
      ++number;
    }
    EXPECT_GE(any.patterns, 200);
    // With one open variable there is only one set to draw: the estimate is exact, and its deviation 0.
    EXPECT_LT(any.sum / static_cast<double>(any.count), 1.35);
    EXPECT_LT(any.worst_sum, 5.0);
  }
}

TEST(ConditionalBound, LeavingVariablesOutSumsOverThem) {
  const JointTable table = joints()[1];
  const JointOracle oracle = oracle_of(table);
  auto labels = enumerate_labelings(oracle.space()).slice(0, 0, c10::nullopt, 5).clone();
  labels.select(1, 2).fill_(kUnknown);
  const auto exact = oracle.conditional_log_p(labels.clamp_min(0), known_of(labels));
  const FreeBound bound(flow_of(oracle), TimeDensity(1.0), {.times = 512, .seed = 3});
  const ItemScores free = bound(labels);
  EXPECT_LT(((free.log_p - exact) / free.std_error).abs().max().item<double>(), 4.5);
  EXPECT_LT(test::max_difference(mean_of_weights(FlowBound(flow_of(oracle), {.draws = 1})(labels)).log_p, exact), 2e-3);
  EXPECT_LT(test::max_difference(OrderBound(flow_of(oracle), {.order = LabelOrder::random})(labels).log_p, exact),
            1e-9);
}

TEST(ConditionalBound, CellsAddUpToTheItem) {
  const JointOracle oracle = oracle_of(joints()[1]);
  const auto labels = enumerate_labelings(oracle.space()).slice(0, 0, 20);
  const auto given = torch::tensor({false, true, false, false}, torch::kBool);
  const FreeOptions options{.times = 64, .given = given, .per_variable = true};
  const ItemScores free = FreeBound(flow_of(oracle), TimeDensity(1.0), options)(labels);
  FreeOptions plain = options;
  plain.per_variable = false;
  EXPECT_LT(test::max_difference(free.cells.sum(1), free.log_p), 1e-9);
  EXPECT_LT(test::max_difference(free.log_p, FreeBound(flow_of(oracle), TimeDensity(1.0), plain)(labels).log_p), 1e-9);
  EXPECT_EQ(free.cells.select(1, 1).abs().max().item<double>(), 0.0);  // given
  const ItemScores order = OrderBound(flow_of(oracle), {.given = given, .per_variable = true})(labels);
  EXPECT_LT(test::max_difference(order.cells.sum(1), order.log_p), 1e-9);
}

// What is known in pattern number `number`: some labels, and soft evidence in every third.
Known pattern_of(const JointTable& table, int64_t number) {
  const auto labels = enumerate_labelings(table.space);
  const auto u = fill_uniform(torch::empty({labels.size(1)}), {static_cast<uint64_t>(number), Purpose::probe}, 0);
  const auto row = labels[(number * 37) % labels.size(0)];
  const auto soft = some_soft(table.space, number).unsqueeze(0);
  return {.labels = torch::where(u < 0.4, row, torch::full_like(row, kUnknown)).unsqueeze(0),
          .soft = number % 3 == 2 ? soft : torch::zeros_like(soft)};
}

// Completions of 200 patterns, soft evidence among them, against the exact conditionals: the statistics of all
// together.
TEST(Complete, SamplesOfTheExactFlowHaveTheExactConditionals) {
  constexpr int64_t kPatterns = 200;
  constexpr int64_t kTogether = 4;  // patterns in a block of rows
  constexpr int64_t kDraws = 256;
  for (const JointTable& table : joints()) {
    const Sampler sampler(flow_of(oracle_of(table)), {.sampler = "rk4", .steps = 12}, 11);
    double sigmas = 0.0;
    for (int64_t first = 0; first < kPatterns; first += kTogether) {
      std::vector<torch::Tensor> labels;
      std::vector<torch::Tensor> soft;
      for (int64_t k = first; k < first + kTogether; ++k) {
        const Known rows = pattern_of(table, k).repeat_each(kDraws);
        labels.push_back(rows.labels);
        soft.push_back(rows.soft);
      }
      const auto drawn = sampler.complete({torch::cat(labels), torch::cat(soft)}, 0, first).labels;
      for (int64_t k = first; k < first + kTogether; ++k) {
        const Known known = pattern_of(table, k);
        const auto samples = drawn.slice(0, (k - first) * kDraws, (k - first + 1) * kDraws);
        const auto is_known = known.labels >= 0;
        EXPECT_TRUE(((samples == known.labels) | ~is_known).all().item<bool>());  // known labels stay
        const JointTable exact = conditional(table, known);
        if (exact.p.numel() > 1) sigmas += test::chi_square_sigmas(exact, samples);
      }
    }
    // Statistics of mean 0 and variance 1, one per pattern.
    EXPECT_LT(std::abs(sigmas) / std::sqrt(static_cast<double>(kPatterns)), test::kSigmas);
  }
}

// Samplers that take other ways than rk4 reach the same conditional: chi-square against the exact one.
TEST(Complete, EverySamplerHasTheExactConditional) {
  const JointTable table = joints()[1];
  const JointOracle oracle = oracle_of(table);
  const Known known{.labels = torch::tensor({1, -1, 3, -1}, torch::kInt64).view({1, 4})};
  const JointTable exact = conditional(table, known);
  constexpr int64_t kDraws = 2048;
  for (const Readout readout : {Readout::argmax, Readout::matched})
    for (const char* name : {"dopri5", "sde", "erasure", "multistep"}) {
      const SampleOptions options{
          .sampler = name, .steps = std::string(name) == "erasure" ? 4 : 64, .readout = readout, .tolerance = 1e-4};
      const auto drawn = Sampler(flow_of(oracle), options, 3).complete(known.repeat_each(kDraws), 0, 0).labels;
      EXPECT_LT(std::abs(test::chi_square_sigmas(exact, drawn)), test::kSigmas) << name;
    }
}

// One order for all items, so that the probabilities of all labelings add up to 1 whatever the network says.
TEST(ConditionalBound, EveryOrderIsADistribution) {
  const JointTable table = joints()[1];
  Flow flow = flow_of(oracle_of(table));
  // Marginals that no joint distribution has: sharper the more is known.
  flow.log_marginals = [oracle = oracle_of(table)](const State& state) {
    const auto log_pi = oracle.posterior_marginals(state).clamp_min(1e-12).log();
    const auto n_known = (state.known.labels >= 0).sum(1, /*keepdim=*/true);
    return log_lift(oracle.space(), log_pi * (1.0 + 0.3 * n_known));
  };
  for (const LabelOrder order : {LabelOrder::left_to_right, LabelOrder::random})
    for (const uint64_t seed : {1, 2}) {
      const auto scores = OrderBound(flow, {.order = order, .seed = seed})(enumerate_labelings(table.space));
      EXPECT_NEAR(scores.log_p.exp().sum().item<double>(), 1.0, 1e-9);
      const auto exact = oracle_of(table).conditional_log_p(enumerate_labelings(table.space), {});
      EXPECT_GT(test::max_difference(scores.log_p, exact), 0.1) << "the marginals must be asked";
    }
}

TEST(Complete, RefusesLabelsThatAreNotThere) {
  const JointOracle oracle = oracle_of(joints()[1]);
  const Sampler sampler(flow_of(oracle), {}, 1);
  const auto labels = torch::tensor({2, -1, 0, 0}, torch::kInt64).view({1, 4});  // two labels: 0 and 1
  EXPECT_THROW(sampler.probabilities({.labels = labels}, 0), InputError);
  EXPECT_THROW(sampler.complete({.labels = labels}, 0, 0), InputError);
  EXPECT_THROW(sampler.probabilities({}, 0), InputError);
  EXPECT_THROW(sampler.probabilities({.labels = labels.clamp_max(1), .soft = torch::zeros({1, 3})}, 0), InputError);
}

TEST(Complete, ACompletionDependsOnItsOwnRowSeedAndDrawAlone) {
  const JointOracle oracle = oracle_of(joints()[1]);
  const Sampler sampler(flow_of(oracle), {.steps = 4}, 5);
  const auto labels = enumerate_labelings(oracle.space()).slice(0, 0, 30).clone();
  labels.select(1, 0).fill_(kUnknown);
  labels.select(1, 3).fill_(kUnknown);
  const auto all = sampler.complete({.labels = labels}, 0, 2).labels;
  EXPECT_TRUE(torch::equal(sampler.complete({.labels = labels.slice(0, 7, 9)}, 7, 2).labels, all.slice(0, 7, 9)));
  EXPECT_FALSE(torch::equal(sampler.complete({.labels = labels}, 0, 3).labels, all));
  EXPECT_TRUE(torch::equal(all.select(1, 1), labels.select(1, 1)));  // known labels stay
  const auto nothing = torch::full_like(labels, kUnknown);
  EXPECT_TRUE(torch::equal(sampler.complete({.labels = nothing}, 0, 0).labels, sampler.draw(0, 30).labels));
}

TEST(Complete, ProbabilitiesAreTheExactMarginals) {
  for (const JointTable& table : joints()) {
    const JointOracle oracle = oracle_of(table);
    const Sampler sampler(flow_of(oracle), {}, 1);
    const auto labels = enumerate_labelings(oracle.space()).slice(0, 0, c10::nullopt, 5).clone();
    labels.select(1, 1).fill_(kUnknown);
    labels.select(1, 2).fill_(kUnknown);
    Known known{.labels = labels, .soft = some_soft(oracle.space(), 9).unsqueeze(0).expand({labels.size(0), -1})};
    const auto p = sampler.probabilities(known, 0).to(torch::kFloat64);
    for (int64_t k = 0; k < labels.size(0); ++k) {
      const JointTable exact = conditional(table, known.slice(k, k + 1));
      const auto marginal = one_hot(table.space, exact.labelings, torch::kFloat64).t().mv(exact.p);
      for (const int64_t i : {1, 2}) {
        const int64_t at = table.space.offset(i);
        const int64_t c = table.space.n_labels(i);
        EXPECT_LT(test::max_difference(p[k].slice(0, at, at + c), marginal.slice(0, at, at + c)), 1e-6);  // float32
      }
    }
  }
}

TEST(Oracle, ImpossibleEvidenceIsRefused) {
  const Space space = Space::sequence(2, 2);
  const auto labelings = torch::tensor({0, 0, 1, 1}, torch::kInt64).view({2, 2});
  const JointTable table = make_joint_table(space, labelings, torch::tensor({0.5, 0.5}, torch::kFloat64));
  const Known known{.labels = torch::tensor({0, 1}, torch::kInt64).view({1, 2})};
  EXPECT_THROW(conditional(table, known), InputError);
  EXPECT_THROW(oracle_of(table).conditional_log_p(known.labels, known), InputError);
}

}  // namespace
}  // namespace segre::conditional_test
