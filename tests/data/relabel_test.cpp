#include "segre/data/relabel.h"

#include "tests/support/support.h"

namespace segre {
namespace {

using test::input_error;

Space model_space() { return Space::table({{"sky", 3, {"rain", "snow", "sun"}}, {"wind", 2, {"no", "yes"}}}); }

TEST(Relabel, MatchesTheLabelsOfATableByName) {
  const Space from = Space::table({{"sky", 2, {"rain", "sun"}}, {"wind", 2, {"no", "yes"}}});
  const auto labels = torch::tensor({{0, 1}, {1, 0}}, torch::kUInt8);
  const auto expected = torch::tensor({{0, 1}, {2, 0}}, torch::kUInt8);
  EXPECT_TRUE(torch::equal(relabel(model_space(), from, labels, "t"), expected));
  EXPECT_TRUE(torch::equal(labels, torch::tensor({{0, 1}, {1, 0}}, torch::kUInt8))) << "the source's own stay";
}

TEST(Relabel, LeavesEqualSpacesAlone) {
  const Space image = Space::uniform(Layout::image, {1, 2}, 3);
  const auto labels = torch::tensor({{2, 0}}, torch::kUInt8);
  EXPECT_TRUE(torch::equal(relabel(image, image, labels, "t"), labels));
}

TEST(Relabel, NamesALabelTheModelDoesNotKnow) {
  const Space from = Space::table({{"sky", 2, {"hail", "sun"}}, {"wind", 2, {"no", "yes"}}});
  EXPECT_EQ(input_error([&] {
              relabel(model_space(), from, torch::tensor({{1, 0}, {0, 0}}, torch::kInt64), "--data t");
            }),
            "--data t: column sky has the label 'hail', which is none of the 3 the model knows");
  // A label that the table has and no item uses is no harm.
  EXPECT_EQ(relabel(model_space(), from, torch::tensor({{1, 0}}, torch::kInt64), "t")[0][0].item<int64_t>(), 2);
}

TEST(Relabel, NamesAColumnThatIsAnother) {
  const Space from = Space::table({{"wind", 2, {"no", "yes"}}, {"sky", 3, {"rain", "snow", "sun"}}});
  EXPECT_EQ(input_error([&] {
              relabel(model_space(), from, torch::zeros({1, 2}, torch::kInt64), "t");
            }),
            "t: column 1 is 'wind', 'sky' was expected");
}

TEST(Relabel, RefusesAnotherShapeAndAnotherNumberOfLabels) {
  const Space image = Space::uniform(Layout::image, {2, 2}, 2);
  const auto labels = torch::zeros({1, 4}, torch::kInt64);
  for (const Space& from : {Space::uniform(Layout::image, {1, 4}, 2), Space::uniform(Layout::sequence, {4}, 2),
                            Space::uniform(Layout::image, {2, 2}, 3)}) {
    const std::string message = input_error([&] { relabel(image, from, labels, "t"); });
    EXPECT_TRUE(message.starts_with("t: " + from.describe() + ", expected " + image.describe())) << message;
  }
}

TEST(FirstItems, AreAsManyAsAskedForOrThere) {
  const auto endless = open_source("coupled");
  EXPECT_EQ(first_items(endless->space(), *endless, 7, "t").sizes(), (std::vector<int64_t>{7, 2}));
  EXPECT_EQ(input_error([&] { first_items(endless->space(), *endless, 0, "t"); }),
            "t: has no end; say how many items with --items");
  const Space space = Space::uniform(Layout::sequence, {2}, 3);
  const auto few = make_dataset_source({space, torch::tensor({{0, 1}, {2, 2}}, torch::kUInt8)});
  EXPECT_EQ(first_items(space, *few, 0, "t").size(0), 2);
  EXPECT_EQ(first_items(space, *few, 9, "t").size(0), 2);
  EXPECT_EQ(first_items(space, *few, 1, "t").scalar_type(), torch::kInt64);
}

}  // namespace
}  // namespace segre
