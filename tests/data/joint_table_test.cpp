#include "segre/data/joint_table.h"

#include <cmath>

#include "segre/data/source.h"
#include "segre/model/joint_oracle.h"
#include "segre/path/e_geodesic.h"
#include "segre/read/readers.h"
#include "tests/support/messages.h"
#include "tests/support/statistics.h"
#include "tests/support/support.h"

namespace segre::joint_table_test {
namespace {

using test::input_error;
using test::kSigmas;
using test::ScratchFolder;
using test::write_text;

constexpr double kRounding = 1e-15;  // of a handful of float64 numbers below 1

JointTable read(const std::string& text) {
  const ScratchFolder folder;
  write_text(folder / "j.csv", text);
  return read_joint_csv(folder / "j.csv");
}

// The message on reading this text, without the file name.
std::string error_of(const std::string& text) {
  const ScratchFolder folder;
  const auto file = (folder / "j.csv").string();
  write_text(file, text);
  return test::after(file, input_error([&] { read_joint_csv(file); }));
}

TEST(JointTable, DropsZerosAndDividesByTheSum) {
  const Space space = test::binary_space(2);
  const auto table = make_joint_table(space, enumerate_labelings(space), torch::tensor({3.0, 0.0, 0.0, 1.0}));
  EXPECT_TRUE(torch::equal(table.labelings, torch::tensor({{0, 0}, {1, 1}}, torch::kInt64)));
  EXPECT_TRUE(torch::equal(table.p, torch::tensor({0.75, 0.25}, torch::kFloat64)));
}

TEST(JointTable, RefusesWeightsThatAreAllZeroAndLabelsOutsideTheSpace) {
  const Space space = test::binary_space(1);
  EXPECT_EQ(input_error([&] { make_joint_table(space, enumerate_labelings(space), torch::zeros({2})); }),
            "a joint distribution needs at least one labeling with positive probability");
  EXPECT_NE(input_error([&] { make_joint_table(space, torch::tensor({{2}}, torch::kInt64), torch::ones({1})); }), "");
}

TEST(JointTable, RefusesWeightsThatAreNone) {
  const Space space = test::binary_space(2);
  const auto refusal = [&](const torch::Tensor& weights) {
    return input_error([&] { make_joint_table(space, enumerate_labelings(space), weights); });
  };
  const std::string each = "a joint distribution needs a weight for each of its 4 labelings, found ";
  EXPECT_EQ(refusal(torch::ones({3})), each + "shape [3]");
  EXPECT_EQ(refusal(torch::ones({5})), each + "shape [5]");
  EXPECT_EQ(refusal(torch::ones({4, 1})), each + "shape [4, 1]");
  EXPECT_EQ(refusal({}), each + "no tensor");
  const std::string expected = ", a finite non-negative number was expected";
  EXPECT_EQ(refusal(torch::tensor({1.0, 2.0, -0.5, 1.0})), "the weight of labeling 2 is -0.5" + expected);
  EXPECT_EQ(refusal(torch::tensor({1.0, std::nan(""), 1.0, 1.0})), "the weight of labeling 1 is nan" + expected);
  EXPECT_EQ(refusal(torch::tensor({1.0, 1.0, 1.0, HUGE_VAL})), "the weight of labeling 3 is inf" + expected);
  EXPECT_EQ(refusal(torch::full({4}, 1e308, torch::kFloat64)),
            "the sum of the weights of a joint distribution overflows; divide them all by the largest");
  // Counts are weights too.
  const auto table = make_joint_table(space, enumerate_labelings(space), torch::tensor({6, 0, 0, 2}, torch::kInt64));
  EXPECT_TRUE(torch::equal(table.p, torch::tensor({0.75, 0.25}, torch::kFloat64)));
}

TEST(JointTable, ATableMadeByHandIsCheckedWhereItIsUsed) {
  const auto good = test::random_joint(test::binary_space(2));
  const auto refusal = [](const JointTable& table) {
    const auto of_source = input_error([&] { make_joint_source(table); });
    EXPECT_EQ(input_error([&] { JointOracle(table, make_e_geodesic(0.01)); }), of_source);
    return of_source;
  };
  EXPECT_EQ(refusal(good), "");
  auto table = good;
  table.labelings = good.labelings + 1;
  EXPECT_EQ(refusal(table), "item 1, variable x2: label 2 where 0 to 1 was expected");
  table = good;
  table.p = good.p.slice(0, 0, 3);
  EXPECT_EQ(refusal(table), "a joint distribution needs a weight for each of its 4 labelings, found shape [3]");
  table.p = torch::tensor({0.5, 0.5, 0.5, -0.5}, torch::kFloat64);
  EXPECT_EQ(refusal(table), "the weight of labeling 3 is -0.5, a finite non-negative number was expected");
  table.p = torch::full({4}, 0.5, torch::kFloat64);
  EXPECT_EQ(refusal(table), "the probabilities of a joint distribution sum to 2, expected 1 within 1e-06");
  table.p = torch::full({4}, 0.25);
  EXPECT_EQ(refusal(table), "the probabilities of a joint distribution are float, double was expected");
}

TEST(JointCsv, TextLabelsAreNumberedInSortedOrder) {
  const auto table = read("sky,ground,p\nsun,wet,0.25\nrain,wet,0.5\nsun,dry,0.25\n");
  EXPECT_EQ(table.space.variable_name(0), "sky");
  EXPECT_EQ(table.space.variable_name(1), "ground");
  EXPECT_EQ(table.space.label_name(0, 0), "rain");
  EXPECT_EQ(table.space.label_name(1, 1), "wet");
  EXPECT_TRUE(torch::equal(table.labelings, torch::tensor({{1, 1}, {0, 1}, {1, 0}}, torch::kInt64)));
  EXPECT_LT(test::max_difference(table.p, torch::tensor({0.25, 0.5, 0.25}, torch::kFloat64)), kRounding);
}

TEST(JointCsv, IntegerLabelsAreSortedAsNumbers) {
  const auto table = read("a,p\n10,0.25\n9,0.25\n-3,0.5\n");
  EXPECT_EQ(table.space.label_name(0, 0), "-3");
  EXPECT_EQ(table.space.label_name(0, 1), "9");
  EXPECT_EQ(table.space.label_name(0, 2), "10");
}

TEST(JointCsv, OneLabelThatIsNoIntegerMakesThemAllText) {
  const auto table = read("a,p\n10,0.25\n9,0.25\nx,0.5\n");
  EXPECT_EQ(table.space.label_name(0, 0), "10");
  EXPECT_EQ(table.space.label_name(0, 1), "9");
}

TEST(JointCsv, RowsOfProbabilityZeroKeepTheirLabelsAndLeaveTheTable) {
  const auto table = read("a,b,p\n0,0,1\n1,2,0\n0,1,0.0\n");
  EXPECT_EQ(table.p.numel(), 1);
  EXPECT_EQ(table.space.n_labels(0), 2);
  EXPECT_EQ(table.space.n_labels(1), 3);
}

TEST(JointCsv, LabelingsNotListedNeedNoRows) {
  // 40 variables: 2^40 labelings, two of them listed.
  std::string header;
  std::string zeros;
  std::string ones;
  for (int k = 0; k < 40; ++k) {
    header += concat("v", k, ",");
    zeros += "0,";
    ones += "1,";
  }
  const auto table = read(header + "p\n" + zeros + "0.5\n" + ones + "0.5\n");
  EXPECT_EQ(table.labelings.size(0), 2);
  EXPECT_EQ(table.space.n_variables(), 40);
}

TEST(JointCsv, SpreadsheetsMayHaveWrittenIt) {
  const auto table = read("\xef\xbb\xbf\"a, b\",p\r\n\"x\"\"y\",0.5\r\nz,5e-1\r\n\r\n");
  EXPECT_EQ(table.space.variable_name(0), "a, b");
  EXPECT_EQ(table.space.label_name(0, 0), "x\"y");
}

TEST(JointCsv, ASumWithinAMillionthOfOneIsDividedAway) {
  EXPECT_NEAR(read("a,p\n0,0.5\n1,0.4999995\n").p.sum().item<double>(), 1.0, kRounding);
}

TEST(JointCsv, AHeaderWithoutVariablesOrPIsRefused) {
  EXPECT_EQ(error_of("a,b\n0,0.5\n"), ":1: last column is 'b', expected variable names followed by p");
  EXPECT_EQ(error_of("\np\n0.5\n"), ":2: last column is 'p', expected variable names followed by p");
  EXPECT_EQ(error_of("p,a\n0.5,0\n"), ":1: last column is 'a', expected variable names followed by p");
  EXPECT_EQ(error_of("a,p\n"), ": has a header but no labelings");
  EXPECT_EQ(error_of(""), ": is empty, a header line was expected");
  EXPECT_EQ(error_of("a,a,p\n0,0,1\n"), ":1: variable 'a' is named twice");
}

TEST(JointCsv, APThatIsNoProbabilityIsNamed) {
  for (const char* text : {"half", "", "-0.5", "1.5", "nan", "inf", "0.5x", " 0.5", "0,5"}) {
    const std::string quoted = concat("\"", text, "\"");
    EXPECT_EQ(error_of("a,p\n0,0.5\n1," + quoted + "\n"),
              concat(":3: column p holds '", text, "', a number from 0 to 1 was expected"));
  }
}

TEST(JointCsv, ALabelingGivenTwiceIsNamedWithBothLines) {
  EXPECT_EQ(error_of("a,b,p\n0,1,0.5\n0,0,0.25\n\n0,1,0.25\n"), ":5: line 2 already has this labeling");
}

TEST(JointCsv, AnEmptyLabelIsNamedWithItsColumn) {
  EXPECT_EQ(error_of("a,b,p\n0,1,0.5\n0,,0.5\n"), ":3: column b is empty, a label was expected");
}

TEST(JointCsv, AShortRowIsNamedWithItsLine) {
  EXPECT_EQ(error_of("a,b,p\n0,1,0.5\n0,0.5\n"), ":3: 2 fields, but the header has 3");
}

TEST(JointCsv, TextThatIsNotUtf8IsRefusedAtItsLineOrConverted) {
  EXPECT_TRUE(
      test::contains(error_of("town,p\nparis,0.5\nn\xeemes,0.5\n"), ":3: column town is not UTF-8: \\xee at byte 2"));
  const ScratchFolder folder;
  write_text(folder / "j.csv", "town,p\nparis,0.5\nn\xeemes,0.5\n");
  EXPECT_EQ(read_joint_csv(folder / "j.csv", TextEncoding::latin1).space.label_name(0, 0), "n\xc3\xaemes");
}

TEST(JointCsv, LabelingsKnowTheirLines) {
  const ScratchFolder folder;
  write_text(folder / "j.csv", "a,p\n0,0.5\n1,0\n\n2,0.5\n");
  const auto table = read_joint_csv(folder / "j.csv");
  EXPECT_EQ(table.origin.place(1), (folder / "j.csv").string() + ":5") << "the row with p = 0 left the table";
}

TEST(JointCsv, AVariableWithoutANameMayNotBeCalledAsAnother) {
  EXPECT_EQ(read(",p\n0,1\n").space.variable_name(0), "x1");
  EXPECT_EQ(error_of(",x1,p\n0,0,1\n"), ":1: variable 'x1' is named twice");
}

TEST(JointCsv, ASumThatIsNotOneIsNamed) {
  EXPECT_EQ(error_of("a,p\n0,0.5\n1,0.4\n"), ": column p sums to 0.9, expected 1 within 1e-06");
}

TEST(JointCsv, ASumJustOffOneIsShownWithEnoughDigits) {
  EXPECT_TRUE(test::contains(error_of("a,p\n0,0.5\n1,0.500002\n"), "sums to 1.000002, expected 1"));
}

TEST(JointSampler, FrequenciesAreThoseOfTheTable) {
  const auto table = test::random_joint(test::mixed_space());
  const auto samples = JointSampler(table).draw({1, Purpose::training_data}, 0, 200'000);
  EXPECT_LT(std::abs(test::chi_square_sigmas(table, samples)), kSigmas);
}

TEST(JointSampler, AnotherTableIsToldApart) {
  const auto table = test::random_joint(test::mixed_space(), 1);
  const auto other = test::random_joint(test::mixed_space(), 2);
  const auto samples = JointSampler(other).draw({1, Purpose::training_data}, 0, 200'000);
  EXPECT_GT(test::chi_square_sigmas(table, samples), kSigmas);
}

TEST(JointSampler, ItemsDoNotDependOnTheBatchTheyAreDrawnIn) {
  const JointSampler sampler(test::random_joint(test::mixed_space()));
  const RandomStream random(3, Purpose::training_data);
  const auto whole = sampler.draw(random, 0, 10'000);
  EXPECT_TRUE(torch::equal(whole, torch::cat({sampler.draw(random, 0, 1), sampler.draw(random, 1, 6'001),
                                              sampler.draw(random, 6'002, 3'998)})));
  EXPECT_FALSE(torch::equal(whole, sampler.draw({4, Purpose::training_data}, 0, 10'000)));
}

}  // namespace
}  // namespace segre::joint_table_test
