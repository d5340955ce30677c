#include "segre/space/check_labels.h"

#include "tests/support/support.h"

namespace segre::check_labels_test {
namespace {

using test::input_error;
using test::mixed_space;

std::string refusal(const Space& space, const torch::Tensor& labels) {
  return input_error([&] { check_integer_labels(space, labels); });
}

TEST(CheckIntegerLabels, EveryIntegerTypeIsReadAsItIs) {
  const Space space = mixed_space();  // 2, 3, 5, 3 and 7 labels
  for (const auto type : {torch::kUInt8, torch::kInt8, torch::kInt16, torch::kInt32, torch::kInt64}) {
    auto labels = torch::tensor({{1, 2, 4, 2, 6}, {0, 0, 0, 0, 0}}, torch::TensorOptions(type));
    EXPECT_EQ(refusal(space, labels), "") << type;
    labels[1][4] = 7;
    EXPECT_EQ(refusal(space, labels), "item 1, variable e: label 7 where 0 to 6 was expected") << type;
    labels[0][1] = 3;
    EXPECT_EQ(refusal(space, labels), "item 0, variable b: label 3 where 0 to 2 was expected") << type;
    if (type == torch::kUInt8) continue;
    labels[0][0] = -1;
    EXPECT_EQ(refusal(space, labels), "item 0, variable a: its label is not known, but complete items are needed here")
        << type;
    labels[0][0] = -2;
    EXPECT_EQ(refusal(space, labels), "item 0, variable a: label -2 where 0 to 1 was expected") << type;
  }
  const Space pair = test::binary_space(2);
  EXPECT_EQ(refusal(pair, torch::ones({3, 2}, torch::kBool)), "");
}

TEST(CheckIntegerLabels, MoreLabelsThanTheTypeHoldsAreNoTrouble) {
  const Space space = Space::sequence(2, 40'000);
  EXPECT_EQ(refusal(space, torch::full({1, 2}, 255, torch::kUInt8)), "");
  EXPECT_EQ(refusal(space, torch::full({1, 2}, 127, torch::kInt8)), "");
  EXPECT_EQ(refusal(space, torch::full({1, 2}, 32'767, torch::kInt16)), "");
  EXPECT_EQ(refusal(space, torch::full({1, 2}, -128, torch::kInt8)),
            "item 0, variable x1: label -128 where 0 to 39999 was expected");
}

TEST(CheckIntegerLabels, UnknownLabelsPassWhereTheyAreAllowed) {
  const Space space = mixed_space();
  const auto refused = [&](const torch::Tensor& labels) {
    return input_error([&] { check_integer_labels(space, labels, Unknowns::allow); });
  };
  for (const auto type : {torch::kInt8, torch::kInt16, torch::kInt32, torch::kInt64}) {
    auto labels = torch::tensor({{-1, 2, 4, -1, 6}, {-1, -1, -1, -1, -1}}, torch::TensorOptions(type));
    EXPECT_EQ(refused(labels), "") << type;
    labels[1][4] = 7;
    EXPECT_EQ(refused(labels), "item 1, variable e: label 7 where 0 to 6 was expected") << type;
    labels[0][3] = -2;
    EXPECT_EQ(refused(labels), "item 0, variable d: label -2 where 0 to 2 was expected") << type;
  }
  // Types without negative numbers have none to allow.
  EXPECT_EQ(refused(torch::full({1, 5}, 255, torch::kUInt8)),
            "item 0, variable a: label 255 where 0 to 1 was expected");
  // The least and the largest number of a type stay what they are.
  EXPECT_EQ(refused(torch::full({1, 5}, -128, torch::kInt8)),
            "item 0, variable a: label -128 where 0 to 1 was expected");
  const Space wide = Space::sequence(2, 40'000);
  EXPECT_EQ(input_error([&] {
              check_integer_labels(wide, torch::full({1, 2}, 127, torch::kInt8), Unknowns::allow);
            }),
            "");
}

TEST(CheckIntegerLabels, LabelsMayLieInAnyOrder) {
  const auto columns = torch::tensor({{0, 1}, {2, 0}, {0, 9}}, torch::kInt32);  // a column per item
  const Space space = Space::table({{"a", 2, {}}, {"b", 3, {}}, {"c", 4, {}}});
  EXPECT_EQ(refusal(space, columns.t()), "item 1, variable c: label 9 where 0 to 3 was expected");
}

TEST(CheckIntegerLabels, ShapeAndTypeAreNamed) {
  const Space space = mixed_space();
  EXPECT_EQ(refusal(space, torch::zeros({4, 5})),
            "labels must be integers of shape [items, 5], found float of shape [4, 5]");
  EXPECT_EQ(refusal(space, torch::zeros({5}, torch::kInt32)),
            "labels must be integers of shape [items, 5], found int of shape [5]");
  EXPECT_EQ(refusal(space, {}), "labels must be integers of shape [items, 5], found no tensor");
  EXPECT_EQ(input_error([&] { check_labels(space, {}); }), "labels must be int64 of shape [items, 5], found no tensor");
  EXPECT_EQ(refusal(space, torch::zeros({0, 5}, torch::kInt32)), "");
}

}  // namespace
}  // namespace segre::check_labels_test
