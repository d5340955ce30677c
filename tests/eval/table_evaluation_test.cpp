#include "segre/eval/table_evaluation.h"

#include <algorithm>
#include <cmath>

#include "segre/eval/column_groups.h"
#include "segre/eval/nearest_rows.h"
#include "segre/eval/table_distances.h"
#include "segre/eval/two_sample.h"
#include "tests/support/messages.h"
#include "tests/support/reference.h"

namespace segre::table_evaluation_test {
namespace {

using test::contains;
using test::Row;

torch::Tensor column(const Row& values) { return test::tensor_of(values); }

torch::Tensor uniform(int64_t rows, int64_t columns, uint64_t seed) {
  return fill_uniform(torch::empty({rows, columns}, torch::kFloat64), {seed, Purpose::probe}, 0);
}

ValueColumn number(const std::string& name) { return {.name = name, .numbers = Bins{}}; }

ValueColumn labels(const std::string& name, const std::vector<std::string>& names) {
  ValueColumn found{.name = name};
  for (const std::string& label : names) found.labels.number(label);
  return found;
}

// ---- distances ------------------------------------------------------------------------------------------------------

TEST(NumberDistance, IsTheLargestDifferenceOfTheShares) {
  EXPECT_DOUBLE_EQ(number_distance(column({1, 2, 3, 4}), column({1, 2, 3, 4})), 0.0);
  EXPECT_DOUBLE_EQ(number_distance(column({1, 2}), column({3, 4, 5})), 1.0);
  // Up to 3 there are 3 of 4 values of the first set and 1 of 3 of the second.
  EXPECT_DOUBLE_EQ(number_distance(column({0, 2, 3, 9}), column({0, 5, 7})), 0.75 - 1.0 / 3.0);
  EXPECT_DOUBLE_EQ(number_distance(column({0, 0, 0, 7}), column({0, 7, 7, 7})), 0.5) << "equal values count together";
  EXPECT_DOUBLE_EQ(number_distance(column({1, NAN}), column({1, 1})), 0.5) << "a missing number is a value";
}

TEST(NumberDistance, ExactSamplesPassAndAShiftDoesNot) {
  const auto held_out = uniform(800, 2, 1);
  const auto good = compare_numbers(uniform(500, 2, 2), held_out, 1);
  EXPECT_LT(good.distance[0], good.largest_exact.high);
  EXPECT_LT(good.distance[1], good.largest_exact.high);
  // Kolmogorov's distribution: the mean of sqrt(NM / (N + M)) D is sqrt(pi / 2) log 2 = 0.869; 5% for finite N, and the
  // error of 199 permutations is 0.26 / sqrt(199).
  const double scale = std::sqrt(500.0 * 800.0 / 1300.0);
  EXPECT_NEAR(good.exact[0] * scale, 0.869, 0.05 * 0.869 + 3 * 0.26 / std::sqrt(199.0));
  auto shifted = uniform(500, 2, 3);
  shifted.select(1, 1) += 0.2;
  const auto bad = compare_numbers(shifted, held_out, 1);
  EXPECT_GT(bad.distance[1], bad.largest_exact.high);
  EXPECT_LT(bad.distance[0], bad.largest_exact.high);
}

TEST(MutualInformation, IsThatOfAKnownJoint) {
  // (45, 5, 5, 45)/100: log 2 minus the entropy of (0.9, 0.1); 10,000 rows, corrected: error below 0.02.
  Row rows;
  for (int k = 0; k < 10'000; ++k) {
    const int cell = k % 100;
    const bool first = cell >= 50;
    rows.push_back(first ? 1 : 0);
    rows.push_back((cell % 50 < 45) == first ? 1 : 0);
  }
  const auto table = column(rows).view({-1, 2}).to(torch::kInt64);
  const Space space = test::space_of({2, 2});
  const auto zero = torch::zeros({1}, torch::kInt64);
  const auto one = torch::ones({1}, torch::kInt64);
  const double exact = std::log(2.0) + 0.9 * std::log(0.9) + 0.1 * std::log(0.1);
  const double correction = (4 - 1 - 1 - 1) / (2.0 * 10'000);
  EXPECT_NEAR(mutual_information(space, zero, one, table).item<double>(), exact - correction, 1e-12);
  const auto mixed = shuffle_columns(table.to(torch::kFloat64), 1).to(torch::kInt64);
  const auto found = compare_information(space, zero, one, mixed, table, 1);
  EXPECT_NEAR(found.difference, exact, 0.01);
  EXPECT_GT(found.difference, found.exact.high);
}

// ---- groups ---------------------------------------------------------------------------------------------------------

TEST(ColumnGroups, ValuesThatRecurAreTheirOwn) {
  Row values(300, 0.0);
  for (int k = 0; k < 700; ++k) values.push_back(1.0 + 0.01 * k);
  const ColumnGroups groups(number("x"), column(values), {.least_share = 0.1, .most_own = 3, .most_groups = 8});
  EXPECT_EQ(groups.names().front(), "0");
  EXPECT_EQ(groups.names().back(), "(missing)");
  EXPECT_EQ(groups.size(), 1 + 7 + 1);
  const auto of = groups.of(column({0.0, -1.0, 1.0, 7.99, 100.0, NAN}));
  EXPECT_EQ(test::labels_of(of), (std::vector<int64_t>{0, 1, 1, 7, 7, 8}));
  const auto counts = groups.of(column(values)).bincount();
  for (int64_t k = 1; k <= 7; ++k) EXPECT_NEAR(counts[k].item<double>(), 100.0, 1.0) << "equally full";
}

TEST(ColumnGroups, LabelsAreTheirOwnGroups) {
  const ColumnGroups groups(labels("y", {"no", "yes"}), column({0, 1, 1}), {});
  EXPECT_EQ(groups.names(), (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(test::labels_of(groups.of(column({1, 0}))), (std::vector<int64_t>{1, 0}));
}

// ---- rows -----------------------------------------------------------------------------------------------------------

TEST(NearestRows, AreThoseOfABruteSearchByRanks) {
  const std::vector<ValueColumn> columns{number("x"), labels("y", {"a", "b", "c"})};
  const auto among = column({10, 0, 20, 1, 30, 2, 1000, 0}).view({4, 2});
  const auto rows = column({29, 2, 1000, 0, NAN, 1}).view({3, 2});
  const NearestRows found = nearest_rows(columns, rows, among);
  // Ranks among 10, 20, 30, 1000: 29 is between 20 and 30, rank 2/4; 30 has rank 2.5/4. Labels agree.
  EXPECT_EQ(found.row, (std::vector<int64_t>{2, 3, 1}));
  EXPECT_NEAR(found.distance[0], 0.125 / 2, 1e-6);
  EXPECT_EQ(found.distance[1], 0.0);
  EXPECT_EQ(found.distance[2], 0.5) << "a missing number is far from all others";
}

TEST(CountCopies, ComparesCellByCell) {
  const auto among = column({1, 2, NAN, 4}).view({2, 2});
  EXPECT_EQ(count_copies(column({1, 2, NAN, 4, 1, 4, NAN, 2}).view({4, 2}), among), 2);
}

// ---- all ------------------------------------------------------------------------------------------------------------

// Rows as the issue has them: a number that is 0 in 3 of 4 rows, and a label that depends on it.
torch::Tensor visits(int64_t count, uint64_t seed) {
  const auto u = uniform(count, 3, seed);
  const auto is_zero = u.select(1, 0) < 0.75;
  const auto value = torch::where(is_zero, torch::zeros({count}, torch::kFloat64), 1.0 + 40.0 * u.select(1, 1));
  const auto bought = torch::where(is_zero, u.select(1, 2) < 0.05, u.select(1, 2) < 0.6).to(torch::kFloat64);
  return torch::stack({(value * 100).round() / 100, bought}, 1);
}

std::vector<ValueColumn> visit_columns() { return {number("PageValues"), labels("Revenue", {"False", "True"})}; }

const Metric& named(const TableEvaluation& found, const std::string& name) {
  for (const Metric& metric : found.metrics)
    if (contains(metric.name, name)) return metric;
  throw Error("no metric " + name);
}

TEST(TableEvaluation, OtherRowsOfTheSameTablePass) {
  const auto found = evaluate_table({visit_columns(), visits(1500, 1), visits(1500, 2), visits(3000, 3)}, {});
  EXPECT_EQ(found.verdicts.front(), "No column is significantly off.");
  EXPECT_TRUE(contains(found.verdicts[1], "do not tell samples from held-out rows beyond the error"))
      << found.verdicts[1];
  for (const char* name : {"Kolmogorov-Smirnov distance, largest", "share of columns significantly off",
                           "mean difference per pair, in nats", "AUC against held-out rows", "nearer to the training"})
    EXPECT_EQ(named(found, name).differs, false) << name;
  // Of the columns, only the label depends on the other: independent columns lose that, and no single column.
  const Metric& information = named(found, "mean over the pairs, in nats");
  EXPECT_LT(information.independent->value, 0.1 * information.reference.value);
  EXPECT_GT(named(found, "AUC against held-out rows").independent->value, 0.55);
  EXPECT_GT(named(found, "AUC on held-out rows").reference.low, 0.75);
  EXPECT_LT(named(found, "AUC on held-out rows").independent->high, 0.75);
}

TEST(TableEvaluation, AValueThatSamplesLackIsNamed) {
  // Zeros spread over the lowest bin, as uniform bins have them: nearly the same quantiles, no zero.
  auto samples = visits(1500, 1);
  auto values = samples.select(1, 0);
  values.copy_(torch::where(values == 0.0, uniform(1500, 1, 9).select(1, 0), values));
  const auto found = evaluate_table({visit_columns(), samples, visits(1500, 2), visits(3000, 3)}, {});
  EXPECT_TRUE(found.columns[0].differs);
  EXPECT_FALSE(found.columns[1].differs);
  EXPECT_TRUE(contains(found.columns[0].where, "0: 0.00% of samples, 7")) << found.columns[0].where;
  EXPECT_TRUE(contains(found.verdicts.front(), "Significantly off: 1 of 2 columns: PageValues (0: 0.00% of samples"))
      << found.verdicts.front();
  EXPECT_GT(named(found, "AUC against held-out rows").value.low, 0.8);
  EXPECT_TRUE(contains(found.verdicts[1], "by PageValues (")) << found.verdicts[1];
}

TEST(TableEvaluation, CopiesOfTrainingRowsAreReported) {
  const auto unique = [](uint64_t seed) {
    return torch::cat({uniform(400, 1, seed), torch::zeros({400, 1}, torch::kFloat64)}, 1);
  };
  const auto train = unique(3);
  const auto found = evaluate_table({visit_columns(), train.slice(0, 0, 300), unique(2), train}, {.target = "none"});
  const Metric& copies = named(found, "exact copies of training rows");
  EXPECT_EQ(copies.value.value, 1.0);
  EXPECT_EQ(copies.differs, true);
  EXPECT_EQ(found.of_samples[17].row, 17);
  EXPECT_EQ(found.of_samples[17].distance, 0.0);
  EXPECT_TRUE(std::any_of(found.verdicts.begin(), found.verdicts.end(),
                          [](const auto& text) { return contains(text, "Samples repeat training rows: 100.0%"); }));
}

TEST(TableEvaluation, WithoutTrainingRowsTheRestIsLeftOut) {
  const auto found = evaluate_table({visit_columns(), visits(200, 1), visits(200, 2), {}}, {});
  EXPECT_EQ(found.left_out, (std::vector<std::string>{"train on synthetic, test on real: there are no training rows",
                                                      "copies and nearest training rows: there are no training rows"}));
  for (const Metric& metric : found.metrics) EXPECT_EQ(metric.name.find("training rows"), std::string::npos);
  EXPECT_FALSE(named(found, "Kolmogorov-Smirnov distance, mean").training);
}

TEST(TableEvaluation, TheTargetIsTheLastColumnOfFewLabels) {
  EXPECT_EQ(default_target(visit_columns()), "Revenue");
  EXPECT_EQ(default_target({labels("y", {"a", "b"}), number("x")}), "");
  EXPECT_EQ(test::input_error([] {
              evaluate_table({visit_columns(), visits(20, 1), visits(20, 2), {}}, {.target = "Revenu"});
            }),
            "target Revenu: the table has no such column; the nearest is Revenue");
}

TEST(TableEvaluation, TheSeedAloneDecides) {
  const TableEvaluationData data{visit_columns(), visits(200, 1), visits(150, 2), visits(300, 3)};
  const auto values = [&](uint64_t seed) {
    Row found;
    for (const Metric& metric : evaluate_table(data, {.seed = seed}).metrics) {
      found.push_back(metric.value.value);
      found.push_back(metric.reference.value);
      found.push_back(metric.independent ? metric.independent->value : 0.0);
    }
    return found;
  };
  EXPECT_EQ(values(1), values(1));
  EXPECT_NE(values(1), values(2));
}

}  // namespace
}  // namespace segre::table_evaluation_test
