// Answers about numbers, and the best completions, under a model that is known exactly.

#include "segre/tasks/number_answers.h"

#include <cmath>
#include <set>
#include <sstream>

#include "segre/space/interval.h"
#include "tests/support/messages.h"
#include "tests/tasks/known_tree.h"

namespace segre::number_answers_test {
namespace {

constexpr double kSingle = 1e-4;  // float32 logits; probabilities of about 1e-6 for what cannot be

// A table whose variables depend on their parents: tables[i] is p(x_i | parent), or p(x_i) in a row of a root.
LoadedRun tree_run(const Space& space, const std::vector<int64_t>& parents,
                   const std::vector<std::vector<std::vector<float>>>& tables) {
  LoadedRun run = test::uniform_run(space);
  Field& field = run.model.field();
  const torch::NoGradGuard no_grad;
  test::named(field.buffers(), "parents").copy_(torch::tensor(parents, torch::kInt64));
  for (size_t i = 0; i < parents.size(); ++i)
    for (size_t a = 0; a < tables[i].size(); ++a)
      for (size_t j = 0; j < tables[i][a].size(); ++j) {
        const auto variable = static_cast<int64_t>(i);
        const auto at =
            parents[i] < 0
                ? test::named(field.buffers(), "marginals")[variable][static_cast<int64_t>(j)]
                : test::named(field.buffers(), "tables")[variable][static_cast<int64_t>(a)][static_cast<int64_t>(j)];
        at.fill_(tables[i][a][j]);
      }
  field.refresh();
  return run;
}

// y is between 0 and 60 in four intervals of two labels, or 50, which recurs. Under "a" its first label is 0, 1 or that
// of 50 with 0.28, 0.52 and 0.2, under "b" 0 or 1 with 0.9 and 0.1. Which interval it is depends on the first label.
class KnownNumbers : public testing::Test {
 protected:
  static Space make_space(int64_t decimals) {
    Bins bins{Bins::Unit::number, {0, 10, 20, 40, 60}, decimals};
    bins.are_levels = true;
    bins.fine = 2;
    bins.own = {50};
    return Space::table({{"x", 2, {"a", "b"}},
                         {"y", 3, {"[0, 20)", "[20, 60]", "50"}, bins, {}, "y"},
                         {"y (within)", 2, {}, {}, {}, "y"}});
  }
  static LoadedRun make_run(int64_t decimals) {
    return tree_run(
        make_space(decimals), {-1, 0, 1},
        {{{0.5F, 0.5F}}, {{0.28F, 0.52F, 0.2F}, {0.9F, 0.1F, 0.0F}}, {{0.1F, 0.9F}, {0.8F, 0.2F}, {1.0F, 0.0F}}});
  }
  static torch::Tensor rows() { return torch::tensor({{0, -1, -1}, {1, -1, -1}}, torch::kInt64); }
};

TEST_F(KnownNumbers, QuantilesKnowWhereInARangeTheyLie) {
  const LoadedRun run = make_run(Bins::kAnyDecimals);
  const Completer completer(run, {.sample = run.experiment.sample});
  const Known known = completer.known_of(rows());
  const auto found =
      summarise_numbers(completer, known, run.model.space().columns()[1], completer.probabilities(known, 0));
  const auto at = [&](int64_t row, int64_t which) { return found[row][which].item<double>(); };
  // Given a: [0, 10) 0.028, [10, 20) 0.252, [20, 40) 0.416, [40, 60] 0.104, 50 0.2. Up to 40 that is 0.696.
  EXPECT_NEAR(at(0, 0), 20.0 + 20.0 * 0.22 / 0.416, 60.0 * kSingle);
  EXPECT_NEAR(at(0, 1), 0.028 * 5 + 0.252 * 15 + 0.416 * 30 + 0.104 * 50 + 0.2 * 50, 60.0 * kSingle);
  EXPECT_NEAR(at(0, 2), 10.0 + 10.0 * 0.022 / 0.252, 60.0 * kSingle) << "q05";
  EXPECT_NEAR(at(0, 3), 10.0 + 10.0 * 0.222 / 0.252, 60.0 * kSingle) << "q25";
  EXPECT_EQ(at(0, 4), 50.0) << "q75: 0.748 lie below 50, 0.2 at it";
  EXPECT_NEAR(at(0, 5), 50.0 + 10.0 * 0.002 / 0.052, 60.0 * kSingle) << "q95";
  // Given b: 0.09, 0.81, 0.08, 0.02.
  EXPECT_NEAR(at(1, 0), 10.0 + 10.0 * 0.41 / 0.81, 60.0 * kSingle);
  EXPECT_NEAR(at(1, 1), 0.09 * 5 + 0.81 * 15 + 0.08 * 30 + 0.02 * 50, 60.0 * kSingle);
  EXPECT_NEAR(at(1, 2), 10.0 * 0.05 / 0.09, 60.0 * kSingle);
}

// Whole numbers: [0, 10) are 0 to 9, whose mean is 4.5, not 5.
TEST_F(KnownNumbers, WholeNumbersAreNotHalfAUnitOff) {
  Bins bins{Bins::Unit::number, {0, 10, 30}, 0};
  bins.are_levels = true;
  bins.own = {12};
  const double p[] = {0.5, 0.4, 0.1};
  // 10, 11, 13, ..., 30: 20 values of the sum 420 - 12.
  EXPECT_NEAR(bins.mean(p), 0.5 * 4.5 + 0.4 * 408.0 / 20.0 + 0.1 * 12.0, 1e-9);
  EXPECT_NEAR(bins.quantile(p, 0.25), 4.5, 1e-9);
  EXPECT_EQ(bins.quantile(p, 0.0), 0.0) << "nothing below the data";
  EXPECT_EQ(bins.quantile(p, 1.0), 30.0);
  // 0.5 below 9.5, 0.02 each for 10 and 11, then 12 itself.
  for (const double q : {0.541, 0.6, 0.639}) EXPECT_EQ(bins.quantile(p, q), 12.0);
}

TEST_F(KnownNumbers, AnswersAreValuesThatTheDataCouldHave) {
  Bins hundreds{Bins::Unit::number, {100, 1000, 9000}, 0};
  hundreds.are_levels = true;
  hundreds.stride = 100;
  EXPECT_EQ(answer_text(hundreds, 1234.5), "1200");
  EXPECT_EQ(answer_text(hundreds, 20.0), "100");
  Bins days{Bins::Unit::day, {0, 86'400 * 10.0, 86'400 * 20.0}};
  days.are_levels = true;
  EXPECT_EQ(answer_text(days, 86'400 * 3.4), "1970-01-04");
  EXPECT_EQ(answer_text(days, 86'400 * 3.6), "1970-01-05");
}

TEST_F(KnownNumbers, TheBestNumberIsTheMedian) {
  const LoadedRun run = make_run(0);
  const Completer completer(run, {.sample = run.experiment.sample});
  const Known known = completer.known_of(rows());
  const auto p = completer.probabilities(known, 0);
  for (const auto fill : {fill_cells, fill_rows}) {
    const FilledRows filled = fill(completer, known, p);
    EXPECT_EQ(filled.numbers[0][1].item<double>(), 30.0) << "19.5 + 20 (0.22 / 0.416); 50 is the most likely value";
    EXPECT_EQ(filled.numbers[1][1].item<double>(), 15.0) << "10 + 10 (0.41 / 0.81) - 0.5";
    EXPECT_TRUE(torch::equal(filled.labels, torch::tensor({{0, 1, 0}, {1, 0, 1}}, torch::kInt64)));
    EXPECT_TRUE(std::isnan(filled.numbers[0][0].item<double>()));
  }
}

// a is the most likely x and d the most likely y, but they never go together: p(a, e) = p(a, f) = 0.2, p(b, d) = p(c,
// d) = 0.3.
TEST(BestCompletions, ARowIsPossibleWhereItsCellsAreNot) {
  const Space space = Space::table({{"x", 3, {"a", "b", "c"}}, {"y", 3, {"d", "e", "f"}}});
  const LoadedRun run =
      tree_run(space, {-1, 0}, {{{0.4F, 0.3F, 0.3F}}, {{0.0F, 0.5F, 0.5F}, {1.0F, 0.0F, 0.0F}, {1.0F, 0.0F, 0.0F}}});
  const Completer completer(run, {.sample = run.experiment.sample});
  const Known known = completer.known_of(torch::tensor({{-1, -1}, {0, -1}, {-1, 1}, {2, 0}}, torch::kInt64));
  const auto p = completer.probabilities(known, 0);
  const auto cells = fill_cells(completer, known, p).labels;
  EXPECT_TRUE(torch::equal(cells[0], torch::tensor({0, 0}, torch::kInt64))) << "(a, d), which cannot be";
  const auto row = fill_rows(completer, known, p).labels;
  EXPECT_EQ(row[0][1].item<int64_t>(), 0) << "d, with 0.6 the most certain";
  EXPECT_NE(row[0][0].item<int64_t>(), 0) << "b or c";
  for (const auto& labels : {cells, row}) {
    EXPECT_TRUE(labels[1][1].item<int64_t>() > 0) << "given a: e or f";
    EXPECT_EQ(labels[2][0].item<int64_t>(), 0);
    EXPECT_TRUE(torch::equal(labels[3], torch::tensor({2, 0}, torch::kInt64))) << "known cells stay";
  }
  EXPECT_FALSE(fill_rows(completer, known, p).numbers.defined());
}

// A table with a column less than the model: the column is unknown, and follows the others.
TEST(BestCompletions, AreWrittenWithTheColumnsThatTheTableLacks) {
  const Space space = Space::table({{"x", 2, {"a", "b"}}, {"y", 2, {"c", "d"}}});
  const LoadedRun run = tree_run(space, {-1, 0}, {{{0.6F, 0.4F}}, {{0.9F, 0.1F}, {0.2F, 0.8F}}});
  const test::ScratchFolder folder;
  test::write_text(folder / "t.csv", "id,x\n1,a\n2,b\n3,\n");
  const Completer completer(run, {.sample = run.experiment.sample});
  std::ostringstream out;
  const auto name = parse_source_name("csv:" + (folder / "t.csv").string());
  testing::internal::CaptureStderr();
  complete_csv(completer, name, "data", {.draws = 0, .best = Best::row, .out = &out}, 1);
  EXPECT_TRUE(test::contains(testing::internal::GetCapturedStderr(), "has no column y, which is unknown in all rows"));
  EXPECT_EQ(out.str(), "id,x,y\n1,a,c\n2,b,d\n3,a,c\n");
}

}  // namespace
}  // namespace segre::number_answers_test
