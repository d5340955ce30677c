#include "segre/sources/relabel.h"
#include "segre/sources/source_kinds.h"

#include <algorithm>

#include "tests/support/archives.h"
#include "tests/support/mapped.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::relabel_test {
namespace {

using test::input_error;
using test::ScratchFolder;
using test::write_text;

constexpr const char* kDeclare =
    " (if it can occur, train with it declared: labels= or dictionary= of csv:, a row with p = 0 of joint:)";
constexpr const char* kDeclareNumber = " (if it can occur, train with the number of labels declared: labels=)";

Space model_space() { return Space::table({{"sky", 3, {"rain", "snow", "sun"}}, {"wind", 2, {"no", "yes"}}}); }

TEST(Relabel, MatchesTheLabelsOfATableByName) {
  const Space from = Space::table({{"sky", 2, {"rain", "sun"}}, {"wind", 2, {"no", "yes"}}});
  const auto labels = torch::tensor({{0, 1}, {1, 0}}, torch::kUInt8);
  const auto expected = torch::tensor({{0, 1}, {2, 0}}, torch::kUInt8);
  EXPECT_TRUE(torch::equal(relabel(model_space(), from, labels, "t"), expected));
  EXPECT_TRUE(torch::equal(labels, torch::tensor({{0, 1}, {1, 0}}, torch::kUInt8))) << "the source's own stay";
}

TEST(Relabel, LeavesEqualSpacesAlone) {
  const Space image = Space::image(1, 2, 3);
  const auto labels = torch::tensor({{2, 0}}, torch::kUInt8);
  EXPECT_TRUE(torch::equal(relabel(image, image, labels, "t"), labels));
}

TEST(Relabel, NamesALabelTheModelDoesNotKnow) {
  const Space from = Space::table({{"sky", 2, {"hail", "sun"}}, {"wind", 2, {"no", "yes"}}});
  EXPECT_EQ(
      input_error([&] {
        relabel(model_space(), from, torch::tensor({{1, 0}, {0, 0}}, torch::kInt64), "--data t");
      }),
      concat("--data t: item 1: column sky has the label 'hail', which training never saw; it has rain, snow, sun",
             kDeclare));
  // A label that the table has but no item uses does no harm.
  EXPECT_EQ(relabel(model_space(), from, torch::tensor({{1, 0}}, torch::kInt64), "t")[0][0].item<int64_t>(), 2);
}

TEST(Relabel, FindsTheColumnsOfATableInAnyOrderAmongOthers) {
  const Space from =
      Space::table({{"wind", 2, {"no", "yes"}}, {"id", 2, {"a", "b"}}, {"sky", 3, {"rain", "snow", "sun"}}});
  EXPECT_TRUE(torch::equal(relabel(model_space(), from, torch::tensor({{1, 0, 2}, {0, 1, 0}}, torch::kInt64), "t"),
                           torch::tensor({{2, 1}, {0, 0}}, torch::kUInt8)));
}

TEST(Relabel, NamesColumnsThatAreMissing) {
  const Space from = Space::table({{"sky", 3, {"rain", "snow", "sun"}}, {"moon", 2, {"no", "yes"}}});
  EXPECT_EQ(input_error([&] {
              relabel(model_space(), from, torch::zeros({1, 2}, torch::kInt64), "t");
            }),
            "t: has no column wind; it has sky, moon, and sky, wind were expected");
}

TEST(Relabel, PutsNumbersIntoTheBinsOfTheModel) {
  const Space space = Space::table({{"a", 2, {"[1, 3)", "[3, 9]"}, Bins{Bins::Unit::number, {1, 3, 9}, 0}}});
  const Space from = Space::table({{"a", 4, {"[3, 9]", "2.5", "7", "x"}}});
  EXPECT_TRUE(torch::equal(relabel(space, from, torch::tensor({{0}, {1}, {2}}, torch::kInt64), "t"),
                           torch::tensor({{1}, {0}, {1}}, torch::kUInt8)));
  EXPECT_EQ(input_error([&] { relabel(space, from, torch::tensor({{3}}, torch::kInt64), "t"); }),
            "t: item 0: column a is 'x', a number was expected, or one of the bins of training: [1, 3), [3, 9]");
}

// Two tables with the same numbers of labels but different names.
TEST(Relabel, TheFirstStrangerInTheOrderOfTheRowsIsNamedWithItsPlace) {
  const Space from = Space::table({{"sky", 3, {"hail", "rain", "sun"}}, {"wind", 2, {"no", "some"}}});
  const auto labels = torch::tensor({{1, 0}, {2, 1}, {0, 0}}, torch::kUInt8);
  const auto place = [](int64_t row) { return concat("t.csv:", row + 10); };
  EXPECT_EQ(input_error([&] { relabel(model_space(), from, labels, "t", place); }),
            concat("t.csv:11: column wind has the label 'some', which training never saw; it has no, yes", kDeclare));
}

TEST(Relabel, OfManyKnownLabelsAFewAreListed) {
  std::vector<std::string> names;
  for (int k = 0; k < 20; ++k) names.push_back(concat("k", k + 10));
  const Space space = Space::table({{"a", 20, names}});
  const Space from = Space::table({{"a", 1, {"two\nlines"}}});
  EXPECT_EQ(input_error([&] {
              relabel(space, from, torch::zeros({1, 1}, torch::kInt64), "t");
            }),
            concat("t: item 0: column a has the label 'two\\nlines', which training never saw; it has k10, k11, k12, "
                   "k13, k14, k15, k16, k17, ... (20 in all)",
                   kDeclare));
}

TEST(Relabel, NumbersOfImagesAndSequencesAreThemselvesHoweverManyThereAre) {
  const Space space = Space::image(1, 2, 3);
  const auto labels = torch::tensor({{1, 0}, {0, 2}}, torch::kUInt8);
  // More labels in the file, but none of the additional ones occurs; then fewer.
  for (const int64_t c : {3, 5, 300}) {
    const Space from = Space::image(1, 2, c);
    const auto found = relabel(space, from, labels.to(label_type(from)), "t");
    EXPECT_TRUE(torch::equal(found, labels)) << c;
  }
  const auto few = torch::tensor({{1, 0}}, torch::kUInt8);
  EXPECT_TRUE(torch::equal(relabel(space, Space::image(1, 2, 2), few, "t"), few));
}

TEST(Relabel, ANumberThatTrainingNeverSawIsNamedWithItsPlace) {
  const auto labels = torch::tensor({{0, 1, 2, 1, 0, 1}, {0, 1, 2, 1, 4, 3}}, torch::kUInt8);
  EXPECT_EQ(input_error([&] { relabel(Space::image(2, 3, 3), Space::image(2, 3, 5), labels, "t"); }),
            concat("t: item 1: row 1, column 1: label '4', which training never saw; it has 0 to 2", kDeclareNumber));
  EXPECT_EQ(input_error([&] { relabel(Space::sequence(6, 2), Space::sequence(6, 5), labels, "t"); }),
            concat("t: item 0: position 2: label '2', which training never saw; it has 0 to 1", kDeclareNumber));
}

TEST(Relabel, NamedLabelSetsAreMatchedByName) {
  const Space space = Space::image(1, 3, 4, {{"0", "1", "2", "ignore"}, {}});
  const Space from = Space::image(1, 3, 3, {{"0", "1", "ignore"}, {}});
  EXPECT_TRUE(torch::equal(relabel(space, from, torch::tensor({{2, 1, 0}}, torch::kUInt8), "t"),
                           torch::tensor({{3, 1, 0}}, torch::kUInt8)));
  // Labels without names go by their numbers: 3 is not "ignore".
  const Space numbers = Space::image(1, 3, 4);
  EXPECT_EQ(relabel(space, numbers, torch::tensor({{2, 1, 0}}, torch::kUInt8), "t")[0][0].item<int64_t>(), 2);
  EXPECT_EQ(input_error([&] {
              relabel(space, numbers, torch::tensor({{2, 3, 0}}, torch::kUInt8), "t");
            }),
            concat("t: item 0: row 0, column 1: label '3', which training never saw; it has 0, 1, 2, ignore",
                   kDeclareNumber));
  const Space other = Space::image(1, 3, 2, {{"road", "sky"}, {}});
  EXPECT_TRUE(test::contains(input_error([&] {
                               relabel(space, other, torch::zeros({1, 3}, torch::kInt64), "t");
                             }),
                             "label 'road', which training never saw"));
}

TEST(Relabel, NumbersMeetNamesByTheirOrder) {
  const Space space = Space::image(1, 3, 2, {{"road", "sky"}, {}});
  const Space numbers = Space::image(1, 3, 4);
  const auto few = torch::tensor({{1, 0, 1}}, torch::kUInt8);
  EXPECT_TRUE(torch::equal(relabel(space, numbers, few, "t"), few));
  EXPECT_EQ(
      input_error([&] {
        relabel(space, numbers, torch::tensor({{1, 0, 2}}, torch::kUInt8), "t");
      }),
      concat("t: item 0: row 0, column 2: label '2', which training never saw; it has road, sky", kDeclareNumber));
}

TEST(Relabel, RefusesAnotherShape) {
  const Space image = Space::image(2, 2, 2);
  const auto labels = torch::zeros({1, 4}, torch::kInt64);
  for (const Space& from : {Space::image(1, 4, 2), Space::sequence(4, 2), test::binary_space(4)}) {
    const std::string message = input_error([&] { relabel(image, from, labels, "t"); });
    EXPECT_TRUE(message.starts_with("t: " + from.describe() + ", expected " + image.describe())) << message;
  }
}

// A source opened from a file that is gone when the test ends.
std::shared_ptr<DataSource> opened(const ScratchFolder& folder, const std::string& kind, const std::string& text) {
  write_text(folder / "t", text);
  return open_source(kind + ":" + (folder / "t").string());
}

TEST(RelabelledSource, FilesSayTheLineOfAStrangeLabel) {
  const ScratchFolder folder;
  const auto source = opened(folder, "csv", "sky,wind\nsun,no\n\nsun,yes\nhail,no\n");
  EXPECT_EQ(input_error([&] { relabel(model_space(), source, "--data t"); }),
            concat((folder / "t").string(),
                   ":5: column sky has the label 'hail', which training never saw; it has rain, snow, sun", kDeclare));
}

TEST(RelabelledSource, HasTheItemsOfItsSourceInTheOtherNumbering) {
  const ScratchFolder folder;
  const auto source = relabel(model_space(), opened(folder, "csv", "sky,wind\nsun,no\nrain,yes\n"), "t");
  EXPECT_EQ(source->space().n_labels(0), 3);
  EXPECT_TRUE(torch::equal(source->rows(0, 2), torch::tensor({{2, 0}, {0, 1}}, torch::kInt64)));
  EXPECT_EQ(source->place(1), (folder / "t").string() + ":3");
}

TEST(RelabelledSource, AKnownDistributionIsCheckedWholeWhateverIsDrawn) {
  const ScratchFolder folder;
  // One item in a million would have the strange label.
  const auto source = opened(folder, "joint", "sky,wind,p\nsun,no,0.999999\nhail,no,0.000001\n");
  const std::string expected =
      concat((folder / "t").string(),
             ":3: column sky has the label 'hail', which training never saw; it has rain, snow, sun", kDeclare);
  EXPECT_EQ(input_error([&] { relabel(model_space(), source, "t"); }), expected);
  EXPECT_EQ(input_error([&] { first_items(model_space(), *source, 5, "t"); }), expected);
}

TEST(RelabelledSource, AKnownDistributionKeepsItsProbabilitiesAndMayNameLabelsThatNeverOccur) {
  const ScratchFolder folder;
  const auto source =
      relabel(model_space(), opened(folder, "joint", "sky,wind,p\nsun,yes,0.75\nrain,no,0.25\nhail,no,0\n"), "t");
  ASSERT_NE(source->joint(), nullptr);
  EXPECT_TRUE(torch::equal(source->joint()->labelings, torch::tensor({{2, 1}, {0, 0}}, torch::kInt64)));
  EXPECT_TRUE(torch::equal(source->joint()->p, torch::tensor({0.75, 0.25}, torch::kFloat64)));
  EXPECT_EQ(source->joint()->space.n_labels(0), 3);
}

TEST(RelabelledSource, AKnownDistributionIsSummedOverVariablesThatTheModelLacks) {
  const ScratchFolder folder;
  write_text(folder / "t", "wind,id,sky,p\nno,1,sun,0.25\nyes,1,rain,0.25\nno,2,sun,0.5\n");
  const auto name = "joint:" + (folder / "t").string();
  testing::internal::CaptureStderr();
  const auto source = open_source_for(model_space(), name, "--data " + name);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "note: --data " + name + ": ignoring column id, which is not in the model\n");
  EXPECT_TRUE(torch::equal(source->joint()->labelings, torch::tensor({{2, 0}, {0, 1}}, torch::kInt64)));
  EXPECT_TRUE(torch::equal(source->joint()->p, torch::tensor({0.75, 0.25}, torch::kFloat64)));
}

TEST(RelabelledSource, EndlessSourcesAreRelabelledAsTheirItemsCome) {
  std::shared_ptr<DataSource> streets = open_source("streets");
  LabelSet turned = streets->space().label_set();
  std::reverse(turned.names.begin(), turned.names.end());
  const Space space = Space::image(streets->space().item_shape()[0], streets->space().item_shape()[1], 8, turned);
  const auto source = relabel(space, streets, "t");
  EXPECT_EQ(source->n_items(), 0);
  EXPECT_TRUE(torch::equal(source->rows(3, 2), 7 - streets->rows(3, 2)));
  const RandomStream random(1, Purpose::training_data);
  EXPECT_TRUE(torch::equal(source->items(random, 3, 2), 7 - streets->items(random, 3, 2)));
  EXPECT_TRUE(input_error([&] { relabel(model_space(), streets, "t"); }).starts_with("t: image of 64x128"));
}

TEST(FirstItems, NameFileItemAndPlaceOfAStrangeLabel) {
  const ScratchFolder folder;
  const auto npy = opened(folder, "npy", test::npy_bytes("'|u1'", "(2, 1, 3)", std::string("\0\1\0\1\0\2", 6)));
  const Space space = Space::image(1, 3, 2);
  EXPECT_EQ(input_error([&] { first_items(space, *npy, 0, "--data t"); }),
            concat((folder / "t").string(),
                   ": item 1: row 0, column 2: label '2', which training never saw; it has 0 to 1", kDeclareNumber));
  EXPECT_EQ(first_items(space, *npy, 1, "--data t").size(0), 1) << "what is not asked for may be strange";
  write_text(folder / "a.png", test::grey_png({0, 1, 1}, 1, 3));
  write_text(folder / "b.png", test::grey_png({0, 1, 9}, 1, 3));
  EXPECT_EQ(input_error([&] { first_items(space, *open_source("png:" + folder.path().string()), 0, "--data t"); }),
            concat((folder / "b.png").string(), ": row 0, column 2: label '9', which training never saw; it has 0 to 1",
                   kDeclareNumber));
}

TEST(FirstItems, AreAsManyAsAskedForOrThere) {
  const auto endless = open_source("coupled");
  EXPECT_EQ(first_items(endless->space(), *endless, 7, "t").sizes(), (std::vector<int64_t>{7, 2}));
  EXPECT_EQ(input_error([&] { first_items(endless->space(), *endless, 0, "t"); }),
            "t: is endless; give the number of items");
  const Space space = Space::sequence(2, 3);
  const auto few = make_dataset_source({space, torch::tensor({{0, 1}, {2, 2}}, torch::kUInt8)});
  EXPECT_EQ(first_items(space, *few, 0, "t").size(0), 2);
  EXPECT_EQ(first_items(space, *few, 9, "t").size(0), 2);
  EXPECT_EQ(first_items(space, *few, 1, "t").scalar_type(), torch::kInt64);
}

// The name of a label that several levels share does not say which of them is meant.
TEST(Relabel, LevelsOfTheSameNumbersKeepTheirLabels) {
  const auto numbers = [](double largest) {
    Bins bins{Bins::Unit::number, {0, 10, 20, 40, largest}, 0};
    bins.are_levels = true;
    bins.fine = 2;
    return Space::table(
        {{"y", 3, {"[0, 20)", "[20, 60]", "(missing)"}, bins, {}, "y"}, {"y (within)", 2, {}, {}, {}, "y"}});
  };
  const Space space = numbers(60);
  const auto labels = torch::tensor({{0, 1}, {1, 0}, {2, 0}, {1, 1}}, torch::kInt64);
  EXPECT_TRUE(torch::equal(relabel(space, space, labels, "t").to(torch::kInt64), labels));
  EXPECT_TRUE(torch::equal(relabel(space, numbers(60), labels, "t").to(torch::kInt64), labels));
  EXPECT_NE(input_error([&] { relabel(space, numbers(80), labels, "t"); }), "");
}

TEST(Relabel, MappedLabelsAreLikeThoseInMemory) {
  const Space from = Space::table({{"wind", 2, {"no", "yes"}}, {"sky", 3, {"rain", "sun", "snow"}}});
  const auto labels = torch::stack({torch::arange(600) % 2, torch::arange(600) % 3}, 1).to(torch::kUInt8);
  for (const Space& space : {model_space(), Space(from)})
    EXPECT_TRUE(torch::equal(relabel(space, from, test::mapped(labels), "t"), relabel(space, from, labels, "t")));
  const auto same = test::mapped(labels);
  EXPECT_EQ(relabel(from, from, same, "t").data_ptr(), same.data_ptr()) << "no copy of labels that stay";
  const Space image = Space::image(1, 2, 4, {{"a", "b", "c", "d"}, {}});
  const Space other = Space::image(1, 2, 3, {{"c", "a", "b"}, {}});
  EXPECT_TRUE(torch::equal(relabel(image, other, same, "t"), relabel(image, other, labels, "t")));
  const Space fewer = Space::image(1, 2, 2, {{"a", "b"}, {}});
  EXPECT_EQ(input_error([&] { relabel(fewer, other, same, "t"); }),
            input_error([&] { relabel(fewer, other, labels, "t"); }));
}

}  // namespace
}  // namespace segre::relabel_test
