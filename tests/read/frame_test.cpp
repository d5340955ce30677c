#include "segre/read/frame.h"

#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "segre/core/text.h"
#include "segre/read/readers.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

// A table in memory is read as the same table in a file.

namespace segre::frame_test {
namespace {

using test::input_error;
using test::ScratchFolder;
using test::write_text;
using Names = std::vector<std::string>;

torch::Tensor codes(const std::vector<int32_t>& values) { return torch::tensor(values, torch::kInt32); }

Frame one_column(FrameColumn column) {
  const int64_t n = column.codes.size(0);
  return {{std::move(column)}, n};
}

// The table of a file without quotes. Empty fields have the code -1; all other missing values are texts.
Frame frame_of(const std::string& csv) {
  auto lines = split(csv, '\n');
  lines.pop_back();  // after the last line end
  Frame frame;
  for (const std::string& name : split(lines.front(), ',')) frame.columns.push_back({name, {}, {}});
  frame.n_rows = static_cast<int64_t>(lines.size()) - 1;
  for (size_t i = 0; i < frame.columns.size(); ++i) {
    std::map<std::string, int32_t> seen;
    std::vector<int32_t> column;
    for (size_t r = 1; r < lines.size(); ++r) {
      const std::string text = split(lines[r], ',')[i];
      const auto [at, is_new] = seen.try_emplace(text, static_cast<int32_t>(frame.columns[i].texts.size()));
      if (is_new) frame.columns[i].texts.push_back(text);
      column.push_back(text.empty() ? -1 : at->second);
    }
    frame.columns[i].codes = codes(column);
  }
  return frame;
}

std::string with_options(const std::string& source, const std::string& options) {
  return options.empty() ? source : source + "?" + options;
}

SourceName options_of(const std::string& options) { return parse_source_name(with_options("csv:DataFrame", options)); }

void expect_same(const Dataset& frame, const Dataset& file) {
  EXPECT_EQ(frame.space.to_json(), file.space.to_json());
  EXPECT_EQ(frame.labels.scalar_type(), file.labels.scalar_type());
  EXPECT_TRUE(torch::equal(frame.labels, file.labels));
  EXPECT_EQ(frame.unknowns, file.unknowns);
}

// Reads a table from memory and from a file, and expects the same of both.
class FrameOfATable : public testing::Test {
 protected:
  SourceName file(const std::string& csv, const std::string& options) {
    write_text(folder_ / "t.csv", csv);
    return parse_source_name(with_options("csv:" + (folder_ / "t.csv").string(), options));
  }
  Dataset same(const std::string& csv, const std::string& options = "") {
    SCOPED_TRACE(options);
    Dataset data = read_frame(frame_of(csv), options_of(options));
    expect_same(data, read_csv_table(file(csv, options)));
    return data;
  }
  Dataset same_for(const Space& space, const std::string& csv, const std::string& options = "",
                   Unknowns unknowns = Unknowns::refuse) {
    SCOPED_TRACE(options);
    Dataset data = read_frame_for(frame_of(csv), options_of(options), space, "data", unknowns);
    expect_same(data, read_csv_table_for(file(csv, options), space, "data", 0, unknowns));
    EXPECT_TRUE(data.space.shares_contents_of(space));
    return data;
  }
  // The message about both, without what is called different: the place, or the name of the table.
  std::string same_error(const std::string& csv, const std::string& options, const std::string& frame_place,
                         const std::string& file_place) {
    const auto in_frame = input_error([&] { read_frame(frame_of(csv), options_of(options)); });
    const auto in_file = input_error([&] { read_csv_table(file(csv, options)); });
    const auto message = test::after("DataFrame" + frame_place, in_frame);
    EXPECT_EQ(message, test::after((folder_ / "t.csv").string() + file_place, in_file));
    return message;
  }
  ScratchFolder folder_;
};

TEST_F(FrameOfATable, HasTheLabelsOfAFile) {
  const auto data = same("size,colour,same\n10,red,x\n9,blue,x\n10,green,x\n-1,red,x\n");
  EXPECT_EQ(data.space.label_name(0, 0), "-1");
  EXPECT_TRUE(torch::equal(data.labels.select(1, 0).to(torch::kInt64), torch::tensor({2, 1, 2, 0}, torch::kInt64)));
  same("a,b,c\n1,x,p\n2,y,p\n", "columns=c,a");
  same("a,b,c\n1,x,p\n2,y,p\n", "without=a,c");
  same("a,b\n1,1\n1,0\n", "labels=1|0|7");
  same("a\n1\n2\n3\n", "limit=2");
}

TEST_F(FrameOfATable, HasTheMissingValuesOfAFile) {
  const std::string csv = "a,b\n3,x\nNA,y\n20,z\n,x\n?,y\nnull,z\nNaN,x\n(missing),x\n";
  EXPECT_EQ(same(csv).space.label_name(0, 2), "(missing)");
  EXPECT_EQ(same(csv, "missing=unknown").unknowns, Unknowns::allow);
  EXPECT_EQ(same_error(csv, "missing=refuse", ": row 1", ":3"),
            ": column a is 'NA', a missing value; a label was expected (missing=refuse)");
  EXPECT_EQ(same("a,b\n1,\n2,NA\n", "missing=unknown").space.n_variables(), 1) << "b has no values";
  for (const char* mark : {"?", "-", "unknown"})
    EXPECT_EQ(same(concat("a,b\n3,x\n", mark, ",y\n20,z\n5,x\n")).space.missing_text(0), mark);
  same("a,b\n!,x\n?,y\n.,z\n-,x\n");
}

TEST_F(FrameOfATable, HasTheBinsOfAFile) {
  const std::string csv = "age,day\n20,2020-01-03\n80,2022-09-09\n,2021-05-06\n34,2020-02-01\n35.5,NA\n";
  const auto data = same(csv, "bins=age:2,day:2");
  ASSERT_NE(data.space.bins(0), nullptr);
  EXPECT_EQ(data.space.label_name(0, 2), "(missing)");
  EXPECT_EQ(data.space.bins(1)->unit, Bins::Unit::day);
  same(csv, "bins=age:2,day:2&missing=unknown");
  EXPECT_EQ(same_error("a,b\n1,2\nx,3\n", "bins=a:2", ": row 1", ":3"),
            ": column a is 'x', a number was expected (bins=)");
  EXPECT_EQ(same_error("a,b\n1,2\n", "bins=aa:2", "", ""), ": has no column 'aa' to bin (bins=); the nearest is a");
}

// An identifier, a measurement, dates and labels.
std::string mixed(int rows) {
  std::string csv = "id,fare,born,sex\n";
  for (int k = 0; k < rows; ++k)
    csv += concat("k", k, ",", k / 2 + 0.25, ",", k % 2 == 0 ? "1970-01-01" : concat("19", 10 + k % 89, "-02-03"), ",",
                  k % 3 == 0 ? "m" : "f", "\n");
  return csv;
}

TEST_F(FrameOfATable, BinsItsMeasurementsAndDatesOnRequest) {
  EXPECT_EQ(same(mixed(200), "bins=auto&without=id").space.n_labels(0), 10);
  same(mixed(200), "max_labels=200");
}

TEST_F(FrameOfATable, HasMoreValuesThanLabelsCanBe) {
  std::string csv = "id,fare\n";
  for (int k = 0; k < 70'000; ++k) csv += concat("k", k % 300, ",", k, ".5\n");
  same(csv + "k,7.5\nk,\n", "bins=auto");
  same(csv + "k,7.5\nk,\n", "bins=auto&missing=unknown");
  same(csv + "k,-\nk,\n");
  EXPECT_EQ(same(csv + "k,abc\n").space.n_variables(), 1) << "no numbers after all";
}

TEST_F(FrameOfATable, HasItsNumbersAndDatesAsLevels) {
  const auto data = same(mixed(200));
  ASSERT_EQ(data.space.columns().size(), 3U) << "the identifier is left out";
  EXPECT_TRUE(data.space.bins(0)->are_levels);
  EXPECT_EQ(data.space.columns()[0].name, "fare");
  same(mixed(200), "numbers=bins");
  same(mixed(200), "numbers=fare:labels,born:bins");
}

TEST_F(FrameOfATable, HasTheDatesOfAFile) {
  const auto csv_of = [](const std::function<std::string(int day, int month)>& date) {
    std::string csv = "when,sex\n";
    for (int k = 0; k < 90; ++k) csv += concat(date(10 + k % 20, 10 + k % 3), ",", k % 2 == 0 ? "m" : "f", "\n");
    return csv;
  };
  const auto pattern = [&](const Dataset& data) { return data.space.bins(0)->pattern; };
  EXPECT_EQ(pattern(same(csv_of([](int d, int m) { return concat(d, ".", m, ".2024"); }))), "%d.%m.%Y");
  EXPECT_EQ(pattern(same(csv_of([](int d, int m) { return concat(m, "/", d, "/2024"); }))), "%m/%d/%Y");
  EXPECT_EQ(pattern(same(csv_of([](int d, int m) { return concat("2024-", m, "-", d, "T10:30"); }))), "%Y-%m-%dT%T");
  EXPECT_EQ(pattern(same(csv_of([](int d, int m) { return concat("2024-", m, "-", d, " 10:30:00+02:00"); }))),
            "%Y-%m-%d %T+02:00");
}

TEST(Frame, RefusesWhatIsNoLabelWithAdviceForPython) {
  const Frame frame = frame_of(mixed(200));
  EXPECT_EQ(input_error([&] { read_frame(frame, options_of("columns=id")); }),
            "DataFrame: no column is left to learn: column id has 200 different values in 200 rows; keep all values as "
            "labels with max_labels=200");
}

TEST_F(FrameOfATable, DeclaresLabelsAsADictionaryDoes) {
  const std::string csv = "sky,wind\nsun,no\nsun,\nsnow,no\n";
  const std::string dictionary = "column,label\nsky,sun\nsky,snow\nsky,rain\nwind,no\nwind,yes\nwind,NA\n";
  write_text(folder_ / "d.csv", dictionary);
  Frame frame = frame_of(csv);
  frame.columns[0].texts = {"sun", "snow", "rain"};
  frame.columns[1].texts = {"no", "yes", "NA"};
  for (FrameColumn& column : frame.columns) column.declared = true;
  for (const char* more : {"", "labels=a|b", "missing=unknown"}) {
    SCOPED_TRACE(more);
    const std::string options = concat("dictionary=", (folder_ / "d.csv").string(), *more != '\0' ? "&" : "", more);
    expect_same(read_frame(frame, options_of(more)), read_csv_table(file(csv, options)));
  }
  EXPECT_EQ(read_frame(frame, options_of("columns=wind")).space.n_labels(0), 3) << "no, yes and missing";
}

TEST(Frame, DeclaredColumnsAreNotJudged) {
  Frame frame = frame_of(mixed(200));
  frame.columns.resize(1);
  EXPECT_TRUE(test::contains(input_error([&] { read_frame(frame, options_of("")); }), "no column is left"));
  frame.columns[0].declared = true;
  EXPECT_EQ(read_frame(frame, options_of("")).space.n_labels(0), 200);
}

TEST(Frame, DeclaredLabelsHaveTheirLimits) {
  Frame frame = one_column({"age", {"1", "2", "NA"}, codes({0, 1, 0}), true});
  EXPECT_EQ(input_error([&] { read_frame(frame, options_of("bins=age:2")); }),
            "DataFrame: column age has labels (its categories) and bins (bins=); give only one of them");
  EXPECT_EQ(input_error([&] { read_frame(frame, options_of("missing=refuse")); }),
            "DataFrame: column age has the category 'NA', a missing value; a label was expected (missing=refuse)");
  frame.columns[0].texts.clear();
  for (int64_t k = 0; k <= kMaxLabels; ++k) frame.columns[0].texts.push_back(std::to_string(k));
  EXPECT_EQ(input_error([&] { read_frame(frame, options_of("")); }),
            "DataFrame: column age has 65537 categories, more than the 65536 labels that a column may have");
  frame.columns[0].texts.pop_back();
  EXPECT_EQ(read_frame(frame, options_of("")).space.n_labels(0), kMaxLabels);
  frame.columns[0].codes = codes({0, -1, 1});
  EXPECT_EQ(input_error([&] { read_frame(frame, options_of("bins=auto")); }),
            "DataFrame: row 1: column age has a missing value besides the 65536 labels declared (its categories), the "
            "most that a column may have");
}

TEST(Frame, EqualTextsAreOneLabelAndUnusedOnesNone) {
  const Frame frame = one_column({"a", {"y", "x", "y", "z", "NA"}, codes({2, 0, 1, -1, 4})});
  const auto data = read_frame(frame, options_of(""));
  EXPECT_EQ(data.space.n_labels(0), 3) << "x, y and missing";
  EXPECT_TRUE(torch::equal(data.labels.view(-1).to(torch::kInt64), torch::tensor({1, 1, 0, 2, 2}, torch::kInt64)));
  Frame declared = frame;
  declared.columns[0].declared = true;
  EXPECT_EQ(read_frame(declared, options_of("")).space.n_labels(0), 4) << "and z";
}

TEST(Frame, NoLineOfItIsTakenForAHeader) {
  EXPECT_EQ(read_frame(frame_of("red,small\nblue,small\nred,big\n"), options_of("")).labels.size(0), 2);
  Frame unnamed = one_column({"", {"y"}, codes({0})});
  EXPECT_EQ(read_frame(unnamed, options_of("")).space.variable_name(0), "x1");
}

TEST(Frame, ItemsKnowTheirRows) {
  Frame frame = frame_of("a\n1\n2\n");
  EXPECT_EQ(read_frame(frame, options_of("")).origin.place(1), "DataFrame: row 1");
  frame.called = "visits";
  EXPECT_EQ(read_frame(frame, options_of("")).origin.place(0), "visits: row 0");
}

TEST(Frame, CodesMayBeAViewOfOthers) {
  const auto values = torch::tensor({{0, 1}, {1, 1}, {0, 0}}, torch::kInt32);
  const auto data = read_frame(one_column({"a", {"x", "y"}, values.select(1, 1)}), options_of(""));
  EXPECT_TRUE(torch::equal(data.labels.view(-1).to(torch::kInt64), torch::tensor({1, 1, 0}, torch::kInt64)));
}

Space weather() { return Space::table({{"sky", 3, {"rain", "snow", "sun"}}, {"wind", 2, {"no", "yes"}}}); }

TEST_F(FrameOfATable, IsReadForAModelAsAFileIs) {
  same_for(weather(), "wind,sky\nyes,sun\nno,rain\n");
  same_for(weather(), "wind,sky\nyes,sun\nno,rain\n", "limit=1");
  same_for(weather(), "wind,sky\n,sun\nno,NA\n", "missing=unknown");
  same_for(weather(), "wind,sky\n,sun\nno,NA\n", "", Unknowns::allow);
  same_for(Space::table({{"sky", 2, {"sun", "(missing)"}}}), "sky\nhail\nsun\nNA\n", "unseen=missing");
  const Bins ages{Bins::Unit::number, {20, 35, 80}, 0};
  const Bins days{Bins::Unit::day, {0, 86'400, 172'800}};
  same_for(Space::table({{"age", 3, {"[20, 35)", "[35, 80]", "(missing)"}, ages},
                         {"day", 2, {"[1970-01-01, 1970-01-02)", "[1970-01-02, 1970-01-03]"}, days}}),
           "day,age\n1970-01-01,34.9\n1970-01-02,35\n1970-01-01 23:59,-7\n2020-01-01,1e9\n1950-01-01,\n");
}

TEST_F(FrameOfATable, LeavesOutRowsWithUnseenLabelsAsAFileDoes) {
  const std::string csv = "sky,wind\nsun,no\nhail,no\nrain,maybe\nsnow,yes\n";
  testing::internal::CaptureStderr();
  const auto data = same_for(weather(), csv, "unseen=skip");
  EXPECT_TRUE(test::contains(testing::internal::GetCapturedStderr(),
                             "note: DataFrame: 2 of 4 rows have labels that training never saw and are left out "
                             "(unseen=skip), the first at DataFrame: row 1\n"));
  EXPECT_EQ(data.origin.place(1), "DataFrame: row 3");
}

TEST(Frame, ItsMistakesForAModelAreNamed) {
  const auto error = [](const std::string& csv, const std::string& options = "") {
    return input_error(
        [&] { read_frame_for(frame_of(csv), options_of(options), weather(), "the data", Unknowns::refuse); });
  };
  EXPECT_TRUE(test::contains(error("sky,wind\nsun,no\nhail,no\n"),
                             "DataFrame: row 1: column sky has the label 'hail', which training never saw"));
  EXPECT_EQ(error("sun,no\nrain,no\n"),
            "the data: has no column sky, wind; it has sun, no, and sky, wind were expected");
  EXPECT_EQ(error("sky,wind\nhail,no\n", "unseen=skip"),
            "DataFrame: all 1 rows have labels that training never saw, so none are left (unseen=skip)");
  EXPECT_TRUE(test::contains(error("sky,wind\nsun,no\n", "bins=sky"), "option bins is 'sky'"));
}

TEST(Frame, HasRowsAndColumnsThatFit) {
  const auto error = [](const Frame& frame) { return input_error([&] { read_frame(frame, options_of("")); }); };
  EXPECT_EQ(error({}), "DataFrame: has no columns");
  EXPECT_EQ(error(one_column({"a", {}, codes({})})), "DataFrame: has no rows");
  EXPECT_EQ(error({{{"a", {"x"}, codes({0})}, {"b", {"x"}, codes({0})}, {"a", {"x"}, codes({0})}}, 1}),
            "DataFrame: column 'a' is named twice");
  EXPECT_EQ(error({{{"a", {"x"}, codes({0, 0})}, {"b", {"x"}, codes({0})}}, 2}),
            "DataFrame: column b: codes are Int of shape [1] on cpu, Int of shape [2] on cpu was expected");
  EXPECT_EQ(error(one_column({"a", {"x"}, codes({0}).to(torch::kInt64)})),
            "DataFrame: column a: codes are Long of shape [1] on cpu, Int of shape [1] on cpu was expected");
  EXPECT_EQ(error(one_column({"a", {"x"}, codes({0}).view({1, 1})})),
            "DataFrame: column a: codes are Int of shape [1, 1] on cpu, Int of shape [1] on cpu was expected");
  EXPECT_EQ(error({{{"a", {"x"}, {}}}, 1}),
            "DataFrame: column a: codes are no tensor, Int of shape [1] on cpu was expected");
  EXPECT_EQ(error(one_column({"a", {"x", "y"}, codes({0, 1, 2})})),
            "DataFrame: row 2: column a has the code 2, -1 to 1 was expected");
  EXPECT_EQ(error(one_column({"a", {"x", "y"}, codes({-2, 1})})),
            "DataFrame: row 0: column a has the code -2, -1 to 1 was expected");
  EXPECT_EQ(error(one_column({"a", {"x", "\xe9"}, codes({0})})),
            "DataFrame: column a has the text '\\xe9', UTF-8 without NULs was expected");
  EXPECT_EQ(error(one_column({std::string("a\0b", 3), {"x"}, codes({0})})),
            "DataFrame: a column has the name 'a\\x00b', UTF-8 without NULs was expected");
}

TEST(Frame, HasTheOptionsOfTablesWithoutThoseOfFiles) {
  for (const char* option : {"delimiter=tab", "encoding=utf8", "header=1", "dictionary=d.csv"})
    EXPECT_EQ(input_error([&] { read_frame(frame_of("a\n1\n"), options_of(option)); }),
              concat("data source csv:DataFrame?", option, ": ", split(option, '=').front(),
                     "= is for files, but DataFrame is a table in memory"));
  EXPECT_TRUE(test::contains(input_error([] { read_frame(frame_of("a\n1\n"), options_of("bin=auto")); }),
                             "unknown option bin; the nearest is bins, "));
  EXPECT_TRUE(test::contains(input_error([] { read_frame(frame_of("a\n1\n"), options_of("unseen=skip")); }),
                             "the table is not read for a model"));
  EXPECT_EQ(input_error([] { read_frame(frame_of("a\n1\n"), options_of("without=b")); }),
            "DataFrame: has no column 'b'; the nearest is a");
}

}  // namespace
}  // namespace segre::frame_test
