#include "segre/eval/evaluation.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "segre/eval/metric_text.h"
#include "segre/sources/toys.h"
#include "tests/support/messages.h"
#include "tests/support/reference.h"

namespace segre::evaluation_test {
namespace {

using test::contains;

torch::Tensor draws(const JointTable& table, int64_t count, uint64_t seed) {
  return JointSampler(table).draw({seed, Purpose::probe}, 0, count);
}

const Metric& named(const Evaluation& evaluation, const std::string& name) {
  for (const Metric& metric : evaluation.metrics)
    if (metric.name.starts_with(name)) return metric;
  throw Error("no metric " + name);
}

bool has(const Evaluation& evaluation, const std::string& name) {
  return std::any_of(evaluation.metrics.begin(), evaluation.metrics.end(),
                     [&](const Metric& metric) { return metric.name.starts_with(name); });
}

TEST(Evaluation, ExactSamplesOfAKnownDistributionPass) {
  const auto table = coupled_binary();
  EvaluationData data{table.space, draws(table, 2000, 1), draws(table, 3000, 2), {}, 0, &table};
  const auto found = evaluate(data, {});
  for (const Metric& metric : found.metrics) EXPECT_EQ(metric.differs, false) << metric.group << ": " << metric.name;
  const Metric& tv = named(found, "total variation to the exact");
  EXPECT_LT(tv.value.low, tv.reference.value);
  EXPECT_LT(tv.reference.value, tv.reference.high);
  EXPECT_FALSE(has(found, "exact copies"));
}

TEST(Evaluation, LostDependenceShowsInPairsAndNotInMarginals) {
  const auto table = coupled_binary();
  EvaluationData data{table.space, draws(table, 2000, 1), draws(table, 3000, 2), {}, 0, nullptr};
  data.samples = torch::stack({data.samples.select(1, 0), draws(table, 2000, 3).select(1, 1)}, 1);
  const auto found = evaluate(data, {});
  EXPECT_EQ(named(found, "mean difference of the shares, per variable").differs, false);
  const Metric& pairs = named(found, "mean difference of the shares, per pair");
  EXPECT_EQ(pairs.differs, true);
  EXPECT_TRUE(pairs.value.low < 0.4 && 0.4 < pairs.value.high) << "(45, 5, 5, 45)/100 against quarters";
  EXPECT_TRUE(contains(pairs.note, "all of them; independent variables with the right shares give 0.399"));
  const Metric& tv = named(found, "total variation between samples and held-out items");
  EXPECT_EQ(tv.differs, true);
  EXPECT_NEAR(tv.value.value, pairs.value.value, 1e-12);
}

TEST(Evaluation, TotalVariationIntervalCovers) {
  // Fair coins, but the truth is (0.45, 0.05, 0.05, 0.45): 0.4.
  const auto table = coupled_binary();
  const auto coins = make_joint_table(table.space, enumerate_labelings(table.space), torch::ones({4}));
  int covered = 0;
  for (uint64_t k = 0; k < 40; ++k) {
    EvaluationData data{table.space, draws(coins, 200, k), draws(table, 20, 1), {}, 0, &table};
    const Estimate tv = named(evaluate(data, {}), "total variation to the exact").value;
    covered += tv.low <= 0.4 && 0.4 <= tv.high ? 1 : 0;
  }
  EXPECT_GE(covered, 31);  // 38 are expected; five standard deviations are 7
}

TEST(Evaluation, TheIntervalOfAKnownTotalVariationIsThatOfTheDeltaMethod) {
  // A fair coin that fell on 1 in 70 of 100 samples: every sample adds +-1, with mean 0.4.
  const Space space = test::binary_space(1);
  const auto coin = make_joint_table(space, enumerate_labelings(space), torch::ones({2}));
  const auto samples = (torch::arange(100) < 70).to(torch::kInt64).unsqueeze(1);
  const EvaluationData data{space, samples, draws(coin, 20, 1), {}, 0, &coin};
  const Estimate tv = named(evaluate(data, {}), "total variation to the exact").value;
  const double reach = 1.959963984540054 * 0.5 * std::sqrt((1.0 - 0.4 * 0.4) / 100);
  EXPECT_NEAR(tv.value, 0.2, 1e-12);
  EXPECT_NEAR(tv.low, 0.2 - reach, 1e-12);
  EXPECT_NEAR(tv.high, 0.2 + reach, 1e-12);
}

TEST(Evaluation, CopiesOfTrainingItemsAreReported) {
  const Space space = Space::image(6, 6, 2);
  const auto train = test::some_labels(space, 300, 1).to(torch::kUInt8);
  EvaluationData data{space,  train.slice(0, 0, 100), test::some_labels(space, 200, 2).to(torch::kUInt8), train, 300,
                      nullptr};
  const auto found = evaluate(data, {.neighbours = 3});
  const Metric& copies = named(found, "exact copies");
  EXPECT_EQ(copies.value.value, 1.0);
  EXPECT_EQ(copies.reference.value, 0.0);
  EXPECT_EQ(copies.differs, true);
  EXPECT_TRUE(copies.note.ends_with("; more than held-out items: the model repeats training items")) << copies.note;
  EXPECT_EQ(named(found, "chance that a sample is nearer").note,
            "nearer than held-out items: it memorises, or its samples are too plain");
  EXPECT_EQ(named(found, "chance that a sample is nearer").value.value, 1.0);
  EXPECT_EQ(found.of_samples.row.sizes(), (std::vector<int64_t>{100, 3}));
  EXPECT_TRUE(torch::equal(found.of_samples.row.select(1, 0), torch::arange(100)));
  EXPECT_TRUE(has(found, "pixels off the background, mean"));
  EXPECT_TRUE(has(found, "share of neighbouring pixels that differ"));
}

TEST(Evaluation, NothingIsSaidOfRepeatingWhereHeldOutItemsRepeatMore) {
  const Space space = Space::image(6, 6, 2);
  const auto train = test::some_labels(space, 300, 1).to(torch::kUInt8);
  const auto other = test::some_labels(space, 200, 2).to(torch::kUInt8);
  const auto fewer = evaluate({space, other, train.slice(0, 0, 100), train, 300, nullptr}, {});
  EXPECT_TRUE(named(fewer, "exact copies").note.ends_with("; fewer than held-out items"));
  EXPECT_EQ(named(fewer, "chance that a sample is nearer").note,
            "farther than held-out items: its samples are odder than they should be");
  const auto same = evaluate({space, other, other, train, 300, nullptr}, {});
  EXPECT_TRUE(named(same, "exact copies").note.ends_with("; as many as held-out items, within the error"));
  EXPECT_EQ(named(same, "chance that a sample is nearer").note, "as near as held-out items, within the error");
}

TEST(Evaluation, NamesWhereTheLargestDifferenceIs) {
  const Space space = Space::image(4, 4, 2);
  EvaluationData data{space, test::some_labels(space, 300, 1), test::some_labels(space, 300, 2), {}, 0, nullptr};
  data.samples.select(1, 6).fill_(1);
  const auto found = evaluate(data, {});
  EXPECT_TRUE(contains(named(found, "largest difference").note, "pixel (1, 2) = "));
}

TEST(Evaluation, RefusesASingleItem) {
  const Space space = test::binary_space(2);
  EvaluationData data{space, torch::zeros({5, 2}, torch::kInt64), torch::zeros({1, 2}, torch::kInt64), {}, 0, nullptr};
  EXPECT_EQ(test::input_error([&] { evaluate(data, {}); }),
            "evaluating needs at least two samples and two held-out items, found 5 and 1");
}

TEST(MetricText, NumbersKeepThreeDigits) {
  EXPECT_EQ(short_number(0.031249), "0.0312");
  EXPECT_EQ(short_number(104.4), "104");
  EXPECT_EQ(short_number(12.345), "12.3");
  EXPECT_EQ(short_number(-0.5), "-0.500");
  EXPECT_EQ(short_number(0.0), "0");
  EXPECT_EQ(short_number(0.000012), "1.2e-05");
  EXPECT_EQ(estimate_text({0.5, 0.25, 0.75}), "0.500 (0.250 to 0.750)");
  EXPECT_EQ(estimate_text({0.5}), "0.500");
  EXPECT_EQ(percent_text(0.3125), "31.2%");
  EXPECT_EQ(percent_text(0.03125), "3.12%");
}

TEST(MetricText, CsvHasEveryNumberAndNoNan) {
  Metric metric{"g", "a, b", {0.5, 0.25, 0.75}, {0.125}, Better::reference, true, "n"};
  std::ostringstream out;
  write_metrics_csv(out, {metric});
  EXPECT_EQ(
      out.str(),
      "group,metric,value,low,high,reference,reference_low,reference_high,better,differs,note,training,independent\n"
      "g,\"a, b\",0.5,0.25,0.75,0.125,,,as reference,yes,n,,\n");
}

TEST(MetricText, TheTableSaysDirectionAndReference) {
  Metric metric{"marginals", "difference", {0.5, 0.25, 0.75}, {0.125}, Better::lower, std::nullopt, ""};
  metric.reference.high = 0.25;
  std::ostringstream out;
  print_metrics(out, {metric});
  EXPECT_TRUE(contains(out.str(), "marginals\n  difference  0.500 (0.250 to 0.750)  0.125 (up to 0.250)   lower"));
}

TEST(Evaluation, RefusesItemsThatAreNotOfTheSpace) {
  const auto table = coupled_binary();
  const EvaluationData good{table.space, draws(table, 20, 1), draws(table, 20, 2), draws(table, 20, 3), 20, nullptr};
  const auto refusal = [](const EvaluationData& data) { return test::input_error([&] { evaluate(data, {}); }); };
  const std::string message = "item 0, variable y1: label 7 where 0 to 1 was expected";
  for (torch::Tensor EvaluationData::*part :
       {&EvaluationData::samples, &EvaluationData::held_out, &EvaluationData::train}) {
    EvaluationData data = good;
    data.*part = torch::full({20, 2}, 7, torch::kUInt8);
    EXPECT_EQ(refusal(data), message);
  }
}

}  // namespace
}  // namespace segre::evaluation_test
