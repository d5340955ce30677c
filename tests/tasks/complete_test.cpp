// Completing more items than a round holds: every item has draws of its own, whatever is completed with it.

#include "segre/tasks/complete.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "segre/io/csv.h"
#include "segre/tasks/complete_items.h"
#include "tests/support/statistics.h"
#include "tests/support/thread_ranks.h"
#include "tests/support/threads.h"
#include "tests/tasks/known_tree.h"

namespace segre::complete_test {
namespace {

using test::kSigmas;

constexpr int64_t kBeyond = 300;  // items after the first round
constexpr int64_t kColumns = 8;   // independent, with two labels each

Space columns() { return Space::table(std::vector<Variable>(kColumns, Variable{"", 2, {}})); }

// Items of which nothing is known.
torch::Tensor nothing(int64_t count) { return torch::full({count, kColumns}, kUnknown, torch::kInt64); }

Completer completer_of(const LoadedRun& run) {
  SampleOptions sample = run.experiment.sample;
  sample.steps = 1;  // the columns are independent
  return {run, {.sample = sample, .seed = 4}};
}

// All completions [N, draws, n], and how many items every batch had.
struct Completions {
  torch::Tensor labels;
  std::vector<int64_t> counts;
};

Completions complete_all(const LoadedRun& run, const torch::Tensor& labels, int64_t draws) {
  Completions all;
  std::vector<torch::Tensor> parts;
  int64_t next = 0;
  ItemsInMemory items({.labels = labels});
  complete_items(completer_of(run), items, {.draws = draws}, [&](const CompletedItems& done) {
    EXPECT_EQ(done.first, next);
    next += done.labels.size(0);
    all.counts.push_back(done.labels.size(0));
    parts.push_back(done.labels);
  });
  all.labels = parts.empty() ? torch::Tensor() : torch::cat(parts);
  return all;
}

// The share of cells that agree is a half by chance.
void expect_independent(const torch::Tensor& a, const torch::Tensor& b, const char* what) {
  const double share = (a == b).to(torch::kFloat64).mean().item<double>();
  EXPECT_NEAR(share, 0.5, kSigmas * 0.5 / std::sqrt(static_cast<double>(a.numel()))) << what;
}

TEST(CompleteItems, BeyondARoundHaveDrawsOfTheirOwn) {
  const test::Threads one_thread(1);
  const LoadedRun run = test::uniform_run(columns());
  const Completer completer = completer_of(run);
  const int64_t round = items_per_round(completer);
  const auto all = complete_all(run, nothing(round + kBeyond), 2);
  EXPECT_EQ(all.counts, (std::vector<int64_t>{round, kBeyond}));
  expect_independent(all.labels.slice(0, round), all.labels.slice(0, 0, kBeyond), "items of two rounds");
  expect_independent(all.labels.select(1, 0), all.labels.select(1, 1), "two draws");
  // Each is what it would be alone, and one draw after another.
  const Known alone = completer.known_of(nothing(1));
  for (const int64_t item : {int64_t{0}, round - 1, round, round + kBeyond - 1})
    for (const int64_t draw : {0, 1})
      EXPECT_TRUE(torch::equal(completer.draw(alone, static_cast<uint64_t>(item), draw)[0], all.labels[item][draw]))
          << item << ", " << draw;
}

TEST(CompleteItems, OfSeveralRanksAreThoseOfOneBeyondARound) {
  const test::Threads one_thread(1);
  const LoadedRun run = test::uniform_run(columns());
  const int64_t count = 2 * items_per_round(completer_of(run)) + kBeyond;
  const auto one = complete_all(run, nothing(count), 1);
  EXPECT_EQ(one.counts.size(), 3U);
  test::as_ranks(2, [&](const auto& ranks) {
    LoadedRun mine = run;
    mine.ranks = ranks;
    const auto all = complete_all(mine, nothing(count), 1);
    ASSERT_EQ(all.counts.size(), ranks->is_first() ? 2U : 0U);
    if (ranks->is_first()) {
      EXPECT_TRUE(torch::equal(all.labels, one.labels));
    }
  });
}

// More draws than a block has rows, and more than a call returns: all different, and those of one after another.
TEST(CompleteItems, ManyDrawsOfAFewAreIndependent) {
  const test::Threads one_thread(1);
  const LoadedRun run = test::uniform_run(columns());
  const Completer completer = completer_of(run);
  constexpr int64_t kItems = 7;
  const int64_t draws = completer.items_per_call() / kItems + 50;
  const auto labels = complete_all(run, nothing(kItems), draws).labels;  // [items, draws, n]
  ASSERT_EQ(labels.size(1), draws);
  const int64_t block = completer.rows_per_block() / kItems;
  const auto from = [&](int64_t first) { return labels.slice(1, first, first + 50); };
  expect_independent(from(0), from(block), "two blocks");
  expect_independent(from(0), from(draws - 50), "two calls");
  const Known known = completer.known_of(nothing(kItems));
  for (const int64_t draw : {int64_t{0}, block, draws - 1})
    EXPECT_TRUE(torch::equal(completer.draw(known, 0, draw), labels.select(1, draw))) << draw;
}

// A label was replaced with probability p by one drawn from all, itself among them.
TEST(CompleteItems, NoiseIsEvidenceForTheLabelThatWasSeen) {
  const Space space = test::space_of({2, 4, 3});
  const LoadedRun run = test::uniform_run(space);
  constexpr double kNoise = 0.2;
  const Completer completer(run, {.sample = run.experiment.sample, .noise = kNoise});
  const Known known = completer.known_of(torch::tensor({{int64_t{1}, int64_t{2}, kUnknown}}));
  EXPECT_TRUE(torch::equal(known.labels, torch::full({1, 3}, kUnknown, torch::kInt64)));
  const auto likelihoods = torch::tensor({{0.1, 0.9, 0.05, 0.05, 0.85, 0.05, 1.0, 1.0, 1.0}}, torch::kFloat64);
  constexpr double kSingle = 1e-6;  // of float32
  EXPECT_LT(test::max_difference(known.soft.to(torch::kFloat64).exp(), likelihoods), kSingle);
  // All labels are equally likely beforehand.
  const auto p = torch::tensor({{0.1, 0.9, 0.05, 0.05, 0.85, 0.05, 1.0 / 3, 1.0 / 3, 1.0 / 3}}, torch::kFloat64);
  EXPECT_LT(test::max_difference(completer.probabilities(known, 0), p), 1e-5);  // logs of a dozen float32 operations
}

// However much a network is shown of it.
TEST(CompleteItems, LogLikelihoodsCountInFull) {
  const Space space = test::space_of({4, 2});
  const Completer completer(test::uniform_run(space), {});
  const auto soft = torch::tensor({{0.0, -1.0, -9.0, -14.0, 3.0, -11.0}}, torch::kFloat64);
  const auto p = completer.probabilities(completer.known_of(torch::full({1, 2}, kUnknown, torch::kInt64), soft), 0);
  const auto expected = torch::cat({soft.narrow(1, 0, 4).log_softmax(1), soft.narrow(1, 4, 2).log_softmax(1)}, 1);
  EXPECT_LT(test::max_difference(p.log(), expected), 1e-5);  // logs of size 14 in float32
}

// Labels that log-likelihoods rule out are never drawn nor given a probability.
TEST(CompleteItems, ImpossibleLabelsStayImpossible) {
  const Space space = test::space_of({2, 4, 3});
  const LoadedRun run = test::uniform_run(space);
  auto soft = torch::zeros({500, 9}, torch::kFloat64);
  for (const int64_t coordinate : {0, 2, 4, 5}) soft.select(1, coordinate).fill_(-INFINITY);
  const auto labels = torch::full({500, 3}, kUnknown, torch::kInt64);
  for (const char* sampler : {"erasure", "rk4"}) {
    SampleOptions sample{.sampler = sampler, .steps = 3};
    const Completer completer(run, {.sample = sample});
    const Known known = completer.known_of(labels, soft);
    const auto p = torch::tensor({0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0 / 3, 1.0 / 3, 1.0 / 3}, torch::kFloat64);
    EXPECT_LT(test::max_difference(completer.probabilities(known, 0), p.expand({500, 9})), 1e-6);
    const auto drawn = completer.draw(known, 0, 0);
    EXPECT_TRUE((drawn.select(1, 0) == 1).all().item<bool>()) << sampler;
    EXPECT_TRUE((drawn.select(1, 1) == 1).all().item<bool>()) << sampler;
    EXPECT_EQ(std::get<0>(at::_unique(drawn.select(1, 2))).numel(), 3) << sampler;
  }
}

// A column of labels, and one of numbers in two bins of a thousand.
class CompleteTable : public testing::Test {
 protected:
  static Space space() {
    return Space::table(
        {{"colour", 2, {"blue", "red"}}, {"size", 2, {"[0, 1000)", "[1000, 1999]"}, Bins{.edges = {0, 1000, 1999}}}});
  }

  // Completes a file with this text: its lines.
  std::vector<std::string> complete(const std::string& text, const CompleteOptions& options, int64_t draws = 1) {
    test::write_text(folder_ / "t.csv", text);
    const Completer completer(run_, options);
    std::ostringstream out;
    std::ostringstream probabilities;
    complete_csv(completer, parse_source_name("csv:" + (folder_ / "t.csv").string()), "data",
                 {.draws = draws, .out = &out, .probabilities = &probabilities}, /*seed=*/4);
    probabilities_ = lines_of(probabilities.str());
    return lines_of(out.str());
  }
  static std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

  test::Threads one_thread_{1};
  LoadedRun run_ = test::uniform_run(space());
  test::ScratchFolder folder_;
  std::vector<std::string> probabilities_;
};

TEST_F(CompleteTable, BeyondARoundHasNumbersOfItsOwn) {
  const CompleteOptions options{.sample = run_.experiment.sample};
  const int64_t round = items_per_round(Completer(run_, options));
  std::string text = "colour,size\n";
  for (int64_t k = 0; k < round + kBeyond; ++k) text += "red,\n";
  const auto lines = complete(text, options);
  ASSERT_EQ(static_cast<int64_t>(lines.size()), 1 + round + kBeyond);
  int same_bin = 0;
  int same = 0;
  const auto number = [&](int64_t row) { return std::stoi(lines[static_cast<size_t>(row) + 1].substr(4)); };
  for (int64_t k = 0; k < kBeyond; ++k) {
    same_bin += number(k) / 1000 == number(round + k) / 1000 ? 1 : 0;
    same += number(k) == number(round + k) ? 1 : 0;
  }
  EXPECT_NEAR(same_bin, 0.5 * kBeyond, kSigmas * std::sqrt(0.25 * kBeyond));
  // Of 300 pairs, 0.15 are expected to be equal by chance; three are one case in 2,000.
  EXPECT_LE(same, 2);
  // The probabilities have one header, and the rows' numbers go on.
  ASSERT_EQ(static_cast<int64_t>(probabilities_.size()), 1 + 2 * (round + kBeyond));
  EXPECT_EQ(probabilities_.front(), "row,column,label,probability");
  EXPECT_EQ(probabilities_.back(), concat(round + kBeyond, ",size,\"[1000, 1999]\",0.5"));
}

// The number comes back where the model may see it, not where it is to be found.
TEST_F(CompleteTable, ANumberThatWasNotGivenDoesNotComeBack) {
  std::string text = "colour,size\n";
  for (int k = 0; k < 400; ++k) text += concat("red,", k * 5 % 2000, "\n");
  const auto same = [&](const CompleteOptions& options) {
    const auto lines = complete(text, options);
    int count = 0;
    for (size_t k = 0; k < 400; ++k) count += lines[k + 1] == concat("red,", k * 5 % 2000) ? 1 : 0;
    return count;
  };
  const auto colour = torch::tensor({1, 0}).to(torch::kBool);
  // A number is right by chance once in 2,000 rows.
  EXPECT_LE(same({.sample = run_.experiment.sample, .given = colour}), 3);
  EXPECT_EQ(same({.sample = run_.experiment.sample}), 400);
  // With noise, a number stays unless its bin changed, and so does the colour: 0.9^2 of the rows do not change.
  EXPECT_NEAR(same({.sample = run_.experiment.sample, .noise = 0.2}), 400 * 0.81,
              kSigmas * std::sqrt(400 * 0.81 * 0.19));
}

TEST_F(CompleteTable, AColumnCalledDrawGetsAnotherBesideIt) {
  const auto lines = complete("draw,colour,draw_,size\n7,red,8,\n", {.sample = run_.experiment.sample}, 2);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0], "draw__,draw,colour,draw_,size");
  EXPECT_TRUE(lines[2].starts_with("2,7,red,8,")) << lines[2];
}

}  // namespace
}  // namespace segre::complete_test
