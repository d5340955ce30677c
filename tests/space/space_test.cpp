#include "segre/space/space.h"

#include <nlohmann/json.hpp>

#include "tests/support/reference.h"

namespace segre::space_test {
namespace {

using test::input_error;
using test::labels_of;
using test::mixed_space;
using test::thread_seconds;

TEST(Space, UniformCountsItsVariablesAndCoordinates) {
  const Space image = Space::image(4, 6, 8);
  EXPECT_EQ(image.n_variables(), 24);
  EXPECT_EQ(image.n_coordinates(), 192);
  EXPECT_EQ(image.n_dims(), 24 * 7);
  EXPECT_EQ(image.offset(5), 40);
  EXPECT_EQ(image.n_labels(23), 8);
  EXPECT_EQ(image.item_shape(), (std::vector<int64_t>{4, 6}));
  EXPECT_TRUE(image.is_uniform());
}

TEST(Space, TableCountsMixedLabels) {
  const Space space = mixed_space();  // 2, 3, 5, 3, 7
  EXPECT_EQ(space.n_variables(), 5);
  EXPECT_EQ(space.n_coordinates(), 20);
  EXPECT_EQ(space.n_dims(), 15);
  EXPECT_EQ(space.max_labels(), 7);
  EXPECT_FALSE(space.is_uniform());
  EXPECT_EQ(labels_of(space.offsets()), (std::vector<int64_t>{0, 2, 5, 10, 13, 20}));
  for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(space.offset(i), labels_of(space.offsets())[i]);
  EXPECT_EQ(labels_of(space.variable_of_coordinate(torch::kCPU)),
            (std::vector<int64_t>{0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4}));
}

TEST(Space, ATableOfEqualCountsIsUniform) {
  const Space space = Space::table({{"a", 4, {}}, {"b", 4, {}}});
  EXPECT_TRUE(space.is_uniform());
  EXPECT_TRUE(space.is(PartKind::columns));
  EXPECT_EQ(space.offset(1), 4);
  EXPECT_EQ(space.variable_name(1), "b");
}

TEST(Space, RefusesWhatIsNoSpaceAndSaysWhy) {
  const auto uniform = [](PartKind kind, std::vector<int64_t> shape, int64_t c) {
    return input_error([&] { Space::of_parts({{.kind = kind, .shape = shape, .n_labels = c}}); });
  };
  EXPECT_EQ(uniform(PartKind::image, {4}, 2), "a space of layout image has 2 axes, not 1");
  EXPECT_EQ(uniform(PartKind::sequence, {4, 4}, 2), "a space of layout sequence has 1 axes, not 2");
  EXPECT_EQ(uniform(PartKind::sequence, {0}, 2), "a space needs at least one variable along each axis, found 0");
  EXPECT_EQ(uniform(PartKind::image, {3, -1}, 2), "a space needs at least one variable along each axis, found -1");
  EXPECT_EQ(uniform(PartKind::sequence, {3}, 0), "a variable has 1 to 65536 labels, found 0");
  EXPECT_EQ(uniform(PartKind::sequence, {3}, 65'537), "a variable has 1 to 65536 labels, found 65537");
  EXPECT_EQ(input_error([] { Space::table({}); }), "a table needs at least one variable");
  EXPECT_EQ(input_error([] {
              Space::table({{"age", 0, {}}});
            }),
            "variable age: a variable has 1 to 65536 labels, found 0");
  EXPECT_EQ(input_error([] {
              Space::table({{"age", 3, {"young", "old"}}});
            }),
            "variable age: 2 label names for 3 labels");
}

// Labels and columns are matched by their names, so a name that two share would mean nothing.
TEST(Space, ANameStandsForOneThing) {
  EXPECT_EQ(input_error([] { Space::table({{"a", 3, {"x", "y", "x"}}}); }), "variable a: two labels are named 'x'");
  EXPECT_EQ(input_error([] {
              Space::table({{"a", 2, {}}, {"b", 2, {}}, {"a", 2, {}}});
            }),
            "two variables are named 'a'");
  EXPECT_EQ(input_error([] { Space::table({{"x2", 2, {}}, {"", 2, {}}}); }), "two variables are named 'x2'");
  EXPECT_EQ(input_error([] {
              Space::image(1, 1, 2, {{"x", "x"}, {}});
            }),
            "two labels are named 'x'");
  auto json = Space::table({{"a", 2, {"x", "y"}}}).to_json();
  json["variables"][0]["label_names"] = {"x", "x"};
  EXPECT_EQ(input_error([&] { Space::from_json(json); }), "variable a: two labels are named 'x'");
}

TEST(Space, NamesAreThoseGivenOrPositions) {
  const Space space = Space::table({{"sex", 2, {"f", "m"}}, {"", 3, {}}});
  EXPECT_EQ(space.variable_name(0), "sex");
  EXPECT_EQ(space.label_name(0, 1), "m");
  EXPECT_EQ(space.variable_name(1), "x2");
  EXPECT_EQ(space.label_name(1, 2), "2");
}

TEST(Space, BlocksGroupVariablesByCountAscending) {
  const Space space = mixed_space();
  const auto& blocks = space.blocks(torch::kCPU);
  ASSERT_EQ(blocks.size(), 4u);
  EXPECT_EQ(blocks[1].n_labels, 3);
  EXPECT_EQ(blocks[1].n_variables, 2);
  EXPECT_EQ(labels_of(blocks[1].coordinates), (std::vector<int64_t>{2, 3, 4, 10, 11, 12}));
  int64_t largest = 0;
  for (const Block& block : blocks) {
    EXPECT_GT(block.n_labels, largest);
    largest = block.n_labels;
  }
  EXPECT_EQ(Space::sequence(9, 4).blocks(torch::kCPU).size(), 1u);
}

TEST(Space, LabelingsAreListedWithTheLastVariableFastest) {
  const Space space = test::small_mixed_space();  // 2, 3, 4
  const auto at = enumerate_labelings(space);
  ASSERT_EQ(at.sizes(), (std::vector<int64_t>{24, 3}));
  int64_t row = 0;
  for (int64_t x = 0; x < 2; ++x)
    for (int64_t y = 0; y < 3; ++y)
      for (int64_t z = 0; z < 4; ++z) EXPECT_EQ(labels_of(at[row++]), (std::vector<int64_t>{x, y, z}));
}

TEST(Space, NumberOfLabelingsStopsAtTheLimit) {
  const Space space = mixed_space();
  EXPECT_EQ(space.n_labelings(1000), 630);
  EXPECT_EQ(space.n_labelings(630), 630);
  EXPECT_EQ(space.n_labelings(629), 630);  // limit + 1
  EXPECT_EQ(space.n_labelings(100), 101);
  EXPECT_EQ(Space::sequence(1'000'000, 91).n_labelings(1 << 22), (1 << 22) + 1);
  EXPECT_EQ(Space::sequence(1'000'000, 1).n_labelings(10), 1);
  EXPECT_EQ(input_error([&] { enumerate_labelings(space, 100); }),
            "the table of 5 variables with 2 to 7 labels has more than 100 labelings: too many to list one by one");
}

TEST(Space, CheckLabelsNamesItemVariableAndLabel) {
  const Space space = mixed_space();
  auto labels = torch::zeros({4, 5}, torch::kInt64);
  EXPECT_NO_THROW(check_labels(space, labels));
  labels[3][4] = 9;
  labels[2][1] = 3;
  EXPECT_EQ(input_error([&] { check_labels(space, labels); }), "item 2, variable b: label 3 where 0 to 2 was expected");
  labels[2][1] = -1;
  EXPECT_EQ(input_error([&] { check_labels(space, labels); }),
            "item 2, variable b: its label is not known, but complete items are needed here");
  labels[2][1] = -2;
  EXPECT_EQ(input_error([&] { check_labels(space, labels); }),
            "item 2, variable b: label -2 where 0 to 2 was expected");
  const std::string shape = input_error([&] { check_labels(space, torch::zeros({4, 6}, torch::kInt64)); });
  EXPECT_EQ(shape.rfind("labels must be int64 of shape [items, 5], found ", 0), 0u) << shape;
  EXPECT_NE(input_error([&] { check_labels(space, torch::zeros({4, 5})); }), "");
}

TEST(Space, CheckingLabelsOfAMillionVariablesIsQuick) {
  const Space space = Space::image(1000, 1000, 2);
  auto labels = torch::zeros({1, 1'000'000}, torch::kInt64);
  const double start = thread_seconds();
  EXPECT_NO_THROW(check_labels(space, labels));
  EXPECT_LT(thread_seconds() - start, 0.2);  // one tensor operation per variable would take seconds
  labels[0][999'999] = 2;
  EXPECT_EQ(input_error([&] { check_labels(space, labels); }),
            "item 0, variable x1000000: label 2 where 0 to 1 was expected");
}

TEST(Space, PartsLieEndToEnd) {
  const Space space = test::image_with_class();
  EXPECT_EQ(space.n_variables(), 7);
  EXPECT_EQ(space.n_coordinates(), 15);
  EXPECT_EQ(space.n_dims(), 8);
  EXPECT_FALSE(space.is_uniform());
  EXPECT_FALSE(space.is(PartKind::image));
  EXPECT_EQ(space.item_shape(), (std::vector<int64_t>{7}));
  EXPECT_EQ(space.offset(6), 12);
  EXPECT_EQ(space.n_labels(6), 3);
  EXPECT_EQ(space.image_part()->width(), 3);
  EXPECT_EQ(space.part_of(5).name, "image");
  EXPECT_EQ(space.part_of(6).name, "labels");
  EXPECT_EQ(space.part_of(6).first, 6);
  EXPECT_EQ(space.variable_name(5), "image.x6");
  EXPECT_EQ(space.variable_name(6), "class");
  EXPECT_EQ(space.label_name(0, 1), "1");
  EXPECT_EQ(space.label_name(6, 2), "ring");
  EXPECT_EQ(space.describe(),
            "image: image of 2x3 variables with 2 labels each; labels: table of 1 variables with 3 labels each");
  const auto labels = torch::arange(14, torch::kInt64).view({2, 7});
  EXPECT_TRUE(torch::equal(space.labels_of(space.parts()[1], labels), labels.slice(1, 6)));
  const Space image = space.alone(space.parts()[0]);
  EXPECT_TRUE(image.is(PartKind::image));
  EXPECT_EQ(image.n_coordinates(), 12);
}

TEST(Space, SeveralPartsNeedDifferentNames) {
  const auto two = [](const char* first, const char* second) {
    return input_error([&] {
      Space::of_parts({{.kind = PartKind::sequence, .name = first, .shape = {2}, .n_labels = 2},
                       {.kind = PartKind::sequence, .name = second, .shape = {2}, .n_labels = 2}});
    });
  };
  EXPECT_EQ(two("a", "b"), "");
  EXPECT_EQ(two("a", "a"), "two parts are named 'a'");
  EXPECT_EQ(two("a", ""), "a part of a space with several parts needs a name");
  EXPECT_EQ(input_error([] { Space::of_parts({}); }), "a space needs at least one part");
}

TEST(Space, AColumnMayBeSeveralVariables) {
  Variable coarse{"age coarse", 8, {}};
  Variable fine{"age fine", 4, {}};
  coarse.column = fine.column = "age";
  const Space space = Space::table({{"sex", 2, {}}, coarse, fine, {"smoker", 2, {}}});
  for (const Space& same : {space, Space::from_json(nlohmann::json::parse(space.to_json().dump()))}) {
    const auto columns = same.columns();
    ASSERT_EQ(columns.size(), 3u);
    EXPECT_EQ(columns[0].name, "sex");
    EXPECT_EQ(columns[1].name, "age");
    EXPECT_EQ(columns[1].first, 1);
    EXPECT_EQ(columns[1].n_variables, 2);
    EXPECT_EQ(columns[2].first, 3);
    EXPECT_EQ(same.variable_name(2), "age fine");
  }
}

TEST(Space, JsonRoundTripKeepsEverything) {
  const Space spaces[] = {Space::sequence(7, 3), Space::image(4, 6, 8), test::image_with_class(),
                          mixed_space(), Space::table({{"sex", 2, {"f", "m"}}, {"", 3, {}}}),
                          Space::table({{"p", 4, {}}, {"q", 4, {"a", "b", "c", "d"}}})};
  for (const Space& space : spaces) {
    const Space back = Space::from_json(nlohmann::json::parse(space.to_json().dump()));
    EXPECT_TRUE(back.is_arranged_like(space));
    ASSERT_EQ(back.n_coordinates(), space.n_coordinates());
    EXPECT_TRUE(torch::equal(back.offsets(), space.offsets()));
    for (int64_t i = 0; i < space.n_variables(); ++i) {
      EXPECT_EQ(back.variable_name(i), space.variable_name(i));
      for (int64_t j = 0; j < space.n_labels(i); ++j) EXPECT_EQ(back.label_name(i, j), space.label_name(i, j));
    }
  }
}

TEST(Space, BinsSayWhatLabelsStandFor) {
  const Bins ages{Bins::Unit::number, {20, 35, 80}, 0};
  const Space space = Space::table({{"age", 3, {"[20, 35)", "[35, 80]", "(missing)"}, ages}, {"sex", 2, {"f", "m"}}});
  const auto json = space.to_json();
  EXPECT_EQ(json.at("variables")[0].at("bins"),
            nlohmann::json::parse(R"({"unit": "number", "edges": [20.0, 35.0, 80.0], "decimals": 0})"));
  EXPECT_FALSE(json.at("variables")[1].contains("bins")) << "as in checkpoints that know of none";
  const Space back = Space::from_json(nlohmann::json::parse(json.dump()));
  ASSERT_NE(back.bins(0), nullptr);
  EXPECT_EQ(back.bins(0)->edges, ages.edges);
  EXPECT_EQ(back.bins(1), nullptr);
  EXPECT_EQ(Space::image(2, 2, 2).bins(3), nullptr);
  EXPECT_EQ(input_error([&] { Space::table({{"age", 4, {}, ages}}); }), "variable age: 2 bins for 4 labels");
}

TEST(Space, CopiesShareTheirContents) {
  const Space space = mixed_space();
  const Space copy = space;
  EXPECT_TRUE(copy.shares_contents_of(space));
  EXPECT_FALSE(mixed_space().shares_contents_of(space));
}

TEST(Space, ALabelSetNamesAndColoursTheLabelsOfAllVariables) {
  const LabelSet set{{"road", "sky"}, {{1, 2, 3}, {255, 0, 7}}};
  const Space space = Space::image(128, 256, 2, set);
  EXPECT_EQ(space.label_name(30'000, 1), "sky");
  const Space back = Space::from_json(nlohmann::json::parse(space.to_json().dump()));
  EXPECT_EQ(back.label_set().names, set.names);
  EXPECT_EQ(back.label_set().colours, set.colours);
  EXPECT_LT(space.to_json().dump().size(), 200u) << "once, not per pixel";
  EXPECT_EQ(input_error([&] {
              Space::image(2, 2, 3, set);
            }),
            "a label set of 2 names or colours for 3 labels");
}

TEST(Space, WithoutALabelSetLabelsAreNumbersAsInOldCheckpoints) {
  const auto json = nlohmann::json::parse(R"({"layout": "image", "shape": [2, 3], "labels": 4})");
  const Space space = Space::from_json(json);
  EXPECT_EQ(space.label_name(5, 3), "3");
  EXPECT_TRUE(space.label_set().names.empty());
  EXPECT_TRUE(space.label_set().colours.empty());
  EXPECT_EQ(space.to_json(), json);
}

TEST(Space, DescribesItself) {
  EXPECT_EQ(mixed_space().describe(), "table of 5 variables with 2 to 7 labels");
  EXPECT_EQ(Space::image(32, 48, 2).describe(), "image of 32x48 variables with 2 labels each");
  EXPECT_EQ(Space::sequence(9, 5).describe(), "sequence of 9 variables with 5 labels each");
}

TEST(Space, HugeSpacesAreMadeAndDescribedAtOnce) {
  const double start = thread_seconds();
  const Space many = Space::image(1000, 1000, 256);
  const Space deep = Space::table({{"word", kMaxLabels, {}}, {"next", kMaxLabels, {}}, {"flag", 2, {}}});
  EXPECT_EQ(many.n_coordinates(), 256'000'000);
  EXPECT_EQ(many.offset(999'999), 255'999'744);
  EXPECT_EQ(many.describe(), "image of 1000x1000 variables with 256 labels each");
  EXPECT_EQ(deep.describe(), "table of 3 variables with 2 to 65536 labels");
  EXPECT_EQ(deep.offset(2), 2 * kMaxLabels);
  EXPECT_LT(many.to_json().dump().size(), 200u);
  EXPECT_LT(thread_seconds() - start, 0.2);  // anything per coordinate of the large one would take seconds
}

TEST(Space, MoreCoordinatesThanAnyMemoryHoldsAreRefused) {
  const auto error = [](const std::vector<int64_t>& shape, int64_t c) {
    return input_error([&] { Space::image(shape[0], shape[1], c); });
  };
  EXPECT_EQ(error({4294967296, 4294967296}, 2),
            "a space of shape [4294967296, 4294967296] with 2 labels each, at most 4294967296 variables times labels "
            "were expected");
  EXPECT_NE(error({65'536, 65'536}, 2), "");
  EXPECT_NE(error({INT64_MAX, INT64_MAX}, 65'536), "");
  EXPECT_NE(error({INT64_MAX, 1}, 1), "");
  EXPECT_EQ(Space::image(65'536, 65'536, 1).n_coordinates(), kMaxCoordinates);
  const std::vector<Variable> many(65'537, Variable{"", kMaxLabels, {}});
  EXPECT_EQ(input_error([&] { Space::table(many); }),
            "a table of 65537 variables has more than 4294967296 labels in total");
}

std::string json_error(const std::string& text) {
  return input_error([&] { Space::from_json(nlohmann::json::parse(text)); });
}

TEST(Space, NumbersOfAFileMustBeWholeAndInRange) {
  EXPECT_EQ(json_error(R"({"layout": "image", "shape": [4294967296, 4294967296], "labels": 2})"),
            "a space of shape [4294967296, 4294967296] with 2 labels each, at most 4294967296 variables times labels "
            "were expected");
  EXPECT_EQ(json_error(R"({"layout": "sequence", "shape": [1e300], "labels": 2})"),
            "the space's shape is 1e+300, a whole number was expected");
  EXPECT_EQ(json_error(R"({"layout": "sequence", "shape": 3, "labels": 2})"),
            "the space's shape is 3, a list of whole numbers was expected");
  EXPECT_EQ(json_error(R"({"layout": "sequence", "shape": [3], "labels": 2.5})"),
            "the space's number of labels is 2.5, a whole number was expected");
  EXPECT_EQ(json_error(R"({"layout": "table", "variables": [{"name": "a", "labels": 18446744073709551615}]})"),
            "a variable's number of labels is 18446744073709551615, a whole number was expected");
  EXPECT_EQ(json_error(R"({"layout": "sequence", "shape": [3], "labels": 1, "label_colours": [[0, 256, 0]]})"),
            "a label's colour is [0, 256, 0], three numbers from 0 to 255 were expected");
  EXPECT_EQ(json_error(R"({"layout": "sequence", "shape": [3], "labels": 1, "label_colours": [[0, 1]]})"),
            "a label's colour is [0, 1], three numbers from 0 to 255 were expected");
}

}  // namespace
}  // namespace segre::space_test
