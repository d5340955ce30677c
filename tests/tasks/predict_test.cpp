// The quality of predictions, against figures computed by hand.

#include "segre/tasks/predict.h"

#include <cmath>
#include <sstream>

#include "segre/likelihood/order_bound.h"
#include "segre/tasks/complete_items.h"
#include "tests/support/messages.h"
#include "tests/tasks/known_tree.h"

namespace segre::predict_test {
namespace {

constexpr int64_t kLetters = 10;
// The probability of the prediction for each letter: yes for a, c, ..., no for b, d, ...
constexpr double kClaimed[kLetters] = {0.80, 0.52, 0.99, 0.74, 0.63, 0.96, 0.58, 0.91, 0.69, 0.85};
// How many of two such predictions are right.
constexpr int kRight[kLetters] = {1, 0, 2, 2, 2, 2, 1, 1, 2, 2};
constexpr double kSingle = 1e-5;  // logs of a few float32 operations

std::string letter(int64_t k) { return {static_cast<char>('a' + k)}; }
bool predicts_yes(int64_t k) { return k % 2 == 0; }

class Predict : public testing::Test {
 protected:
  static LoadedRun make_run() {
    Variable letters{"letter", kLetters, {}};
    std::vector<float> given;
    for (int64_t k = 0; k < kLetters; ++k) {
      letters.label_names.push_back(letter(k));
      const auto claimed = static_cast<float>(kClaimed[k]);
      given.push_back(predicts_yes(k) ? 1.0f - claimed : claimed);
      given.push_back(predicts_yes(k) ? claimed : 1.0f - claimed);
    }
    return test::run_given_first(Space::table({letters, {"answer", 2, {"no", "yes"}}}),
                                 torch::tensor(given).view({kLetters, 2}));
  }

  PredictionQuality predict(const std::string& text, const std::string& options = "") {
    test::write_text(folder_ / "t.csv", text);
    std::ostringstream out;
    const auto source = parse_source_name("csv:" + (folder_ / "t.csv").string() + options);
    const auto quality = test::predict_into(run_, source, "answer", out);
    lines_.clear();
    std::istringstream in(out.str());
    for (std::string line; std::getline(in, line);) lines_.push_back(line);
    return quality;
  }

  // A row whose prediction is right, or wrong.
  static std::string row(int64_t k, bool right) { return letter(k) + (predicts_yes(k) == right ? ",yes\n" : ",no\n"); }

  LoadedRun run_ = make_run();
  test::ScratchFolder folder_;
  std::vector<std::string> lines_;
};

TEST_F(Predict, QualityIsWhatItIsByHand) {
  // Neither the letters nor their probabilities are in order; one row has no truth.
  std::string text = "letter,answer\n";
  for (int64_t k = 0; k < 10; ++k) text += row(7 * k % 10, kRight[7 * k % 10] > 0);
  text += "a,\n";
  for (int64_t k = 0; k < 10; ++k) text += row(3 * k % 10, kRight[3 * k % 10] > 1);
  const PredictionQuality quality = predict(text);
  EXPECT_EQ(quality.n_rows, 21);
  EXPECT_EQ(quality.n_truth, 20);
  // 15 of 20, and the standard error of a mean: the deviation over the root of n - 1.
  EXPECT_NEAR(quality.accuracy.value, 0.75, 1e-12);
  EXPECT_NEAR(quality.accuracy.error, std::sqrt(0.75 * 0.25 / 19.0), 1e-12);
  double loss = 0.0;
  for (int64_t k = 0; k < kLetters; ++k)
    loss -= kRight[k] * std::log(kClaimed[k]) + (2 - kRight[k]) * std::log(1.0 - kClaimed[k]);
  EXPECT_NEAR(quality.log_loss.value, loss / 20.0, kSingle);
  // Ten groups of two rows with the same letter, by their probability.
  const int64_t by_claim[] = {1, 6, 4, 8, 3, 0, 9, 7, 5, 2};
  ASSERT_EQ(quality.groups.size(), 10U);
  double off = 0.0;
  for (size_t g = 0; g < 10; ++g) {
    const int64_t k = by_claim[g];
    EXPECT_EQ(quality.groups[g].count, 2);
    EXPECT_NEAR(quality.groups[g].probability, kClaimed[k], kSingle) << g;
    EXPECT_NEAR(quality.groups[g].right.value, 0.5 * kRight[k], 1e-12) << g;
    off += std::abs(kClaimed[k] - 0.5 * kRight[k]) / 10.0;
  }
  EXPECT_NEAR(quality.calibration_error, off, kSingle);
  ASSERT_EQ(lines_.size(), 22U);
  EXPECT_EQ(lines_[0], "row,label,probability,truth,truth_probability");
  EXPECT_EQ(lines_[1], "1,yes,0.8,yes,0.8");
  EXPECT_EQ(lines_[2], "2,no,0.91,no,0.91");
  EXPECT_EQ(lines_[11], "11,yes,0.8,,");
  EXPECT_EQ(lines_[12], "12,yes,0.8,no,0.2");
}

TEST_F(Predict, FewRowsHaveAGroupEach) {
  const PredictionQuality quality = predict("letter,answer\n" + row(2, true) + row(1, false) + row(0, false));
  ASSERT_EQ(quality.groups.size(), 3U);
  const double claimed[] = {0.52, 0.80, 0.99};
  for (size_t g = 0; g < 3; ++g) {
    EXPECT_EQ(quality.groups[g].count, 1);
    EXPECT_NEAR(quality.groups[g].probability, claimed[g], kSingle);
    EXPECT_EQ(quality.groups[g].right.value, g == 2 ? 1.0 : 0.0);
  }
  EXPECT_NEAR(quality.calibration_error, (0.52 + 0.80 + 0.01) / 3.0, kSingle);
}

TEST_F(Predict, GroupsThatAreNotEqualCountByTheirRows) {
  // 15 rows: groups of one and two in turn.
  std::string text = "letter,answer\n";
  for (int k = 0; k < 5; ++k) text += row(1, false) + row(0, true) + row(2, true);
  const PredictionQuality quality = predict(text);
  ASSERT_EQ(quality.groups.size(), 10U);
  EXPECT_EQ(quality.groups[0].count, 1);
  EXPECT_EQ(quality.groups[1].count, 2);
  // Rows 0 to 3 claim 0.52 and are wrong, 6 to 9 claim 0.8, 10 to 14 claim 0.99, and all of these are right. Rows 4 and
  // 5 share a group, which claims 0.66 and is right half the time.
  EXPECT_NEAR(quality.groups[3].probability, 0.66, kSingle);
  EXPECT_EQ(quality.groups[3].right.value, 0.5);
  EXPECT_NEAR(quality.calibration_error, (4 * 0.52 + 2 * 0.16 + 4 * 0.2 + 5 * 0.01) / 15.0, kSingle);
}

TEST_F(Predict, RowsKeepTheirNumbersOverRoundsAndWhenOthersAreSkipped) {
  const int64_t round = items_per_round(Completer(run_, {.sample = run_.experiment.sample}));
  std::string text = "letter,answer\nz,no\n";
  for (int64_t k = 0; k < round + 2; ++k) text += "c,yes\n";
  text += "a,no\n";
  const PredictionQuality quality = predict(text, "?unseen=skip");
  EXPECT_EQ(quality.n_rows, round + 3);
  ASSERT_EQ(static_cast<int64_t>(lines_.size()), round + 4);
  EXPECT_EQ(lines_[1], "2,yes,0.99,yes,0.99");
  EXPECT_EQ(lines_.back(), concat(round + 4, ",yes,0.8,no,0.2"));
}

// Labels much rarer than float32 can hold, 1e-45: the logits say how rare they are, and nothing on the way from them
// rounds it up.
class RareLabels : public testing::Test {
 protected:
  static constexpr double kRare[] = {-200.0, -300.0};  // nats: 1e-87 and 1e-130
  static constexpr double kRounding = 1e-3;            // of float32 at 500 nats, a few times
  const Space space_ = Space::table({{"a", 2, {"often", "rare"}}, {"b", 2, {"often", "rare"}}});
  const LoadedRun run_ = test::run_of(
      space_, std::make_shared<test::StatedLogits>(torch::tensor({0.0, kRare[0], 0.0, kRare[1]}, torch::kFloat64)));
};

TEST_F(RareLabels, CostAPredictionAsManyNatsAsTheLogitsSay) {
  const test::ScratchFolder folder;
  test::write_text(folder / "t.csv", "a,b\noften,rare\nrare,often\noften,often\n");
  std::ostringstream out;
  const auto source = parse_source_name("csv:" + (folder / "t.csv").string());
  const auto quality = test::predict_into(run_, source, "b", out);
  EXPECT_NEAR(quality.log_loss.value, -kRare[1] / 3.0, kRounding);
  EXPECT_TRUE(test::contains(quality.describe(), ", log loss 100 +- ")) << quality.describe();
  EXPECT_TRUE(test::contains(out.str(), "\n1,often,1,rare,5.148")) << out.str() << "exp(-300) = 5.148e-131";
}

TEST_F(RareLabels, CostALabelingFilledInFromLeftToRightAsManyNatsAsTheLogitsSay) {
  const auto labels = enumerate_labelings(space_);
  const auto scores = OrderBound(flow_of(run_.model), {.order = LabelOrder::left_to_right})(labels);
  for (int64_t k = 0; k < labels.size(0); ++k) {
    const double exact =
        kRare[0] * labels[k][0].item<double>() + kRare[1] * labels[k][1].item<double>();  // the rest is 1 - 1e-87
    EXPECT_NEAR(scores.log_p[k].item<double>(), exact, kRounding);
  }
}

}  // namespace
}  // namespace segre::predict_test
