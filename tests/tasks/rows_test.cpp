// Rows by names and values, as labels and back.

#include "segre/tasks/rows.h"

#include <nlohmann/json.hpp>

#include "tests/support/heard_log.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::rows_test {
namespace {

Space weather() {
  return Space::table({{"sky", 3, {"rain", "sun", "(missing)"}},
                       {"storeys", 2, {"1", "2"}},
                       {"wet", 2, {"False", "True"}},
                       {"heat", 2, {"[0, 10)", "[10, 20]"}, Bins{.edges = {0, 10, 20}, .decimals = 1}}});
}

torch::Tensor labels_of(const std::string& rows, Holes holes = Holes::unknown) {
  return items_of(weather(), Json::parse(rows), "rows", holes).labels;
}

TEST(Rows, AreLabelsByName) {
  const auto labels = labels_of(R"json([{"heat": 12.5, "sky": "sun", "storeys": 2, "wet": true},
                                    {"storeys": 1.0, "wet": "False", "heat": "[0, 10)"},
                                    {"sky": null, "heat": -3}])json");
  const int64_t u = kUnknown;
  EXPECT_TRUE(torch::equal(labels, torch::tensor({{int64_t{1}, int64_t{1}, int64_t{1}, int64_t{1}},
                                                  {u, int64_t{0}, int64_t{0}, int64_t{0}},
                                                  {u, u, u, int64_t{0}}})))
      << labels;
}

TEST(Rows, KeepTheUsersNumbers) {
  const auto items = items_of(weather(), Json::parse(R"json([{"heat": 12.5}, {"sky": "sun"}])json"));
  ASSERT_EQ(items.texts.size(), 2U);
  EXPECT_EQ(items.texts[0][3], "12.5");
  EXPECT_EQ(items.texts[1][3], "");
  EXPECT_EQ(items.rows, (std::vector<int64_t>{1, 2}));
}

TEST(Rows, HolesAreWhatTrainingReadThemAsIfAskedFor) {
  const auto row = R"json([{"sky": null, "storeys": 1, "wet": false, "heat": 1}])json";
  EXPECT_EQ(labels_of(row, Holes::as_trained)[0][0].item<int64_t>(), 2);
  EXPECT_TRUE(test::contains(test::input_error([] {
                               labels_of(R"json([{"sky": "sun", "storeys": null, "wet": false, "heat": 1}])json",
                                         Holes::as_trained);
                             }),
                             "column storeys"));
}

TEST(Rows, OtherColumnsAreIgnoredWithANote) {
  NoteCollector notes;
  labels_of(R"json([{"sky": "sun", "visit": 7}])json");
  EXPECT_EQ(notes.take(), std::vector<std::string>{"rows: ignoring column visit, which is not in the model"});
  EXPECT_TRUE(notes.take().empty());
}

TEST(Rows, ComeBack) {
  const auto rows = Json::parse(R"json([{"sky":"sun","storeys":"2","wet":"True","heat":"[10, 20]"},
                                    {"sky":null,"storeys":"1","wet":null,"heat":null}])json");
  EXPECT_EQ(rows_of(weather(), items_of(weather(), rows).labels), rows);
  const RandomStream random(1, Purpose::bin_values);
  const auto drawn = rows_of(weather(), items_of(weather(), rows).labels, BinValues{random});
  EXPECT_GE(drawn[0]["heat"].get<double>(), 10.0);
  EXPECT_LE(drawn[0]["heat"].get<double>(), 20.0);
  const Space image = Space::image(2, 3, 4, {{"sky", "sea", "sand", "rock"}, {}});
  const auto pictures = Json::parse("[[[0,1,2],[3,null,0]],[[1,1,1],[2,2,2]]]");
  EXPECT_EQ(rows_of(image, items_of(image, pictures).labels), pictures);
  const auto named = Json::parse(R"json([[["sky","sea","sand"],["rock",null,"sky"]]])json");
  EXPECT_TRUE(torch::equal(items_of(image, named).labels, items_of(image, pictures).labels.slice(0, 0, 1)));
}

TEST(Rows, MessagesNameTheRowAndWhatWasExpected) {
  const auto message = [](const std::string& rows) { return test::input_error([&] { labels_of(rows); }); };
  EXPECT_EQ(message("[]"), "rows: an empty array, an array of rows was expected");
  EXPECT_EQ(message("{}"), "rows: object, an array of rows was expected");
  EXPECT_EQ(message(R"json([{"sky": "sun"}, 3])json"), "rows: row 1 is number, an object was expected: {NAME: VALUE}");
  EXPECT_EQ(message(R"json([{"sky": ["sun"]}])json"),
            "rows: row 0: column sky holds array, a text, a number, true, false or null was expected");
  EXPECT_TRUE(test::contains(message(R"json([{"sky": "hail"}])json"), "column sky has the label 'hail'"));
  EXPECT_TRUE(test::contains(message(R"json([{"heat": "warm"}])json"), "column heat is 'warm', a number was expected"));
  const Space sequence = Space::sequence(3, 4);
  const auto of_sequence = [&](const std::string& rows) {
    return test::input_error([&] { items_of(sequence, Json::parse(rows)); });
  };
  EXPECT_EQ(of_sequence("[[0,1]]"),
            "rows: row 0 is an array of 2, an array of 3 was expected; an item has the shape [3]");
  EXPECT_EQ(of_sequence("[[0,1,4]]"), "rows: row 0 holds 4; a label, 0 to 3, its name or null was expected");
}

}  // namespace
}  // namespace segre::rows_test
