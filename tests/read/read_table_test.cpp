#include "segre/read/readers.h"

#include <ctime>
#include <nlohmann/json.hpp>
#include <set>

#include "segre/core/text.h"
#include "tests/support/archives.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::read_table_test {
namespace {

using test::input_error;
using test::ScratchFolder;
using test::write_text;
using Names = std::vector<std::string>;

Dataset read(const std::string& text, const std::string& options = "") {
  const ScratchFolder folder;
  write_text(folder / "t.csv", text);
  return read_csv_table(
      parse_source_name("csv:" + (folder / "t.csv").string() + (options.empty() ? "" : "?" + options)));
}

// The message without the file name.
std::string error_of(const std::string& text, const std::string& options = "") {
  const ScratchFolder folder;
  const auto file = (folder / "t.csv").string();
  write_text(file, text);
  const auto name = parse_source_name("csv:" + file + (options.empty() ? "" : "?" + options));
  return test::after(file, input_error([&] { read_csv_table(name); }));
}

Names label_names(const Space& space, int64_t variable) {
  Names names;
  for (int64_t j = 0; j < space.n_labels(variable); ++j) names.push_back(space.label_name(variable, j));
  return names;
}

torch::Tensor bytes(std::vector<int64_t> values, int64_t n) {
  return torch::tensor(values, torch::kInt64).to(torch::kUInt8).view({-1, n});
}

TEST(CsvTable, EachColumnHasItsOwnSortedLabels) {
  const auto data = read("size,colour,same\n10,red,x\n9,blue,x\n10,green,x\n-1,red,x\n");
  EXPECT_EQ(label_names(data.space, 0), (Names{"-1", "9", "10"}));
  EXPECT_EQ(label_names(data.space, 1), (Names{"blue", "green", "red"}));
  EXPECT_EQ(label_names(data.space, 2), Names{"x"}) << "a constant column has one label";
  EXPECT_TRUE(torch::equal(data.labels, bytes({2, 2, 0, 1, 0, 0, 2, 1, 0, 0, 2, 0}, 3)));
}

TEST(CsvTable, MissingValuesAreTheLastLabelOfTheirColumnOnly) {
  const auto data = read("a,b\n3,x\nNA,y\n20,z\n,x\n?,y\nnull,z\nNaN,x\n(missing),x\n");
  EXPECT_EQ(label_names(data.space, 0), (Names{"3", "20", "(missing)"})) << "the rest stay numbers";
  EXPECT_EQ(label_names(data.space, 1), (Names{"x", "y", "z"}));
  EXPECT_TRUE(torch::equal(data.labels.select(1, 0), bytes({0, 2, 1, 2, 2, 2, 2, 2}, 1).view(-1)));
}

TEST(CsvTable, HowMissingValuesAreWrittenIsKept) {
  using Text = std::optional<std::string>;
  const std::string text = "a,b,c,d\n1,x,NA,\n?,y,u,2\nNA,z,,3\nNA,x,u,4\n2,y,v,5\n";
  const auto data = read(text, "bins=d:2");
  EXPECT_EQ(data.space.missing_text(0), Text("NA")) << "as most of them";
  EXPECT_EQ(data.space.missing_text(1), Text()) << "none is missing";
  EXPECT_EQ(data.space.missing_text(2), Text("")) << "as often as NA, and before it in the alphabet";
  EXPECT_EQ(data.space.missing_text(3), Text("")) << "with bins, too";
  EXPECT_EQ(data.space.label_name(0, 2), "(missing)") << "the label's name is the same for all";
  const Space again = Space::from_json(data.space.to_json());
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(again.missing_text(i), data.space.missing_text(i));
  EXPECT_EQ(read(text, "missing=unknown").space.missing_text(0), Text()) << "no label stands for them";
}

TEST(CsvTable, MissingValuesAreRefusedOnRequest) {
  EXPECT_EQ(error_of("a,b\n3,x\n4,NA\n", "missing=refuse"),
            ":3: column b is 'NA', a missing value; a label was expected (missing=refuse)");
}

TEST(CsvTable, MissingValuesAreUnknownOnRequest) {
  const auto data = read("a,b\n3,x\nNA,y\n20,\n", "missing=unknown");
  EXPECT_EQ(data.unknowns, Unknowns::allow);
  EXPECT_EQ(label_names(data.space, 0), (Names{"3", "20"})) << "and no label";
  EXPECT_EQ(label_names(data.space, 1), (Names{"x", "y"}));
  EXPECT_EQ(data.labels.scalar_type(), torch::kInt16) << "a byte has no -1";
  EXPECT_TRUE(torch::equal(data.labels.to(torch::kInt64), torch::tensor({{0, 0}, {-1, 1}, {1, -1}}, torch::kInt64)));
  // In columns with bins, too.
  const auto bins = read("a\n1\n2\nNA\n3\n4\n", "missing=unknown&bins=a:2");
  EXPECT_EQ(bins.space.n_labels(0), 2);
  EXPECT_TRUE(torch::equal(bins.labels.view(-1).to(torch::kInt64), torch::tensor({0, 0, -1, 1, 1}, torch::kInt64)));
  EXPECT_EQ(read("a,b\n3,NA\n4,\n", "missing=unknown").space.n_variables(), 1) << "b has no values";
  EXPECT_TRUE(test::contains(input_error([] { read("a\n1\n", "missing=drop"); }),
                             "option missing is 'drop', one of label, unknown, refuse was expected"));
}

// Samples are written this way, whatever the training table called it.
TEST(CsvTable, TheNameOfTheMissingLabelIsAMissingValue) {
  EXPECT_EQ(error_of("a\n3\n(missing)\n", "missing=refuse"),
            ":3: column a is '(missing)', a missing value; a label was expected (missing=refuse)");
  // Nor does it count as a value.
  EXPECT_EQ(read("a\n3\n4\n(missing)\n", "max_labels=2").space.n_labels(0), 3);
}

TEST(CsvTable, EveryMissingTokenIsOneAndNoOtherTextIs) {
  for (const char* token :
       {"NA", "N/A", "NaN", "nan", "null", "NULL", "None", "n/a", "<NA>", "#N/A", "?", "(missing)", "\"\""})
    EXPECT_EQ(label_names(read(concat("a\nx\n", token, "\n")).space, 0), (Names{"x", "(missing)"})) << token;
  for (const char* text : {"na", "N.A.", "none", "NAN", "Null", "??", "missing", "-", "unknown", "(missing) "})
    EXPECT_EQ(read(concat("a\n", text, "\n"), "missing=refuse").space.label_name(0, 0), text);
}

TEST(CsvTable, HeaderlessFilesNameTheirColumnsByPosition) {
  const auto data = read("1,x\n0,y\n1,y\n", "header=0");
  EXPECT_EQ(data.space.variable_name(0), "x1");
  EXPECT_EQ(data.space.variable_name(1), "x2");
  EXPECT_TRUE(torch::equal(data.labels, bytes({1, 0, 0, 1, 1, 1}, 2))) << "the first line is an item";
  EXPECT_EQ(data.origin.place(0).substr(data.origin.place(0).rfind(':')), ":1");
  EXPECT_EQ(read("0,0\n1,0\n", "header=0&columns=x2,x1").space.variable_name(0), "x2");
  EXPECT_EQ(read("a\n\nb\nc\n", "header=0&limit=2").labels.size(0), 2);
  EXPECT_EQ(read("a,b\n1,2\n", "header=1").labels.size(0), 1);
  EXPECT_EQ(error_of("", "header=0"), ": is empty, a row of labels was expected");
  EXPECT_EQ(error_of("1,2\n1\n", "header=0"), ":2: 1 fields, but the first row has 2");
  EXPECT_EQ(error_of("1,2\n1,NA\n", "header=0&missing=refuse"),
            ":2: column x2 is 'NA', a missing value; a label was expected (missing=refuse)");
}

TEST(CsvTable, AFirstLineThatCouldBeAnItemIsNotGuessedAt) {
  const std::string text = "\nred,small\nblue,small\nred,big\n";
  EXPECT_EQ(error_of(text),
            ":2: every column is named after one of its own labels, such as 'red'; read the file with header=0 if this "
            "line is data, with header=1 if it names the columns");
  EXPECT_EQ(read(text, "header=0").labels.size(0), 3);
  EXPECT_EQ(read(text, "header=1").labels.size(0), 2);
  EXPECT_EQ(read(text, "columns=small").labels.size(0), 2) << "whoever names a column knows the header";
  EXPECT_EQ(read("red,small\nblue,small\ngreen,big\n").labels.size(0), 2) << "no item is called red";
}

TEST(CsvTable, ItemsKnowTheirLines) {
  const auto data = read("\"a\nb\",c\n1,x\n\n\n\"2\n2\",y\n3,z\n");
  const auto line = [&](int64_t item) { return data.origin.place(item).substr(data.origin.place(item).rfind(':')); };
  EXPECT_EQ(data.space.variable_name(0), "a\nb");
  EXPECT_EQ(line(0), ":3");
  EXPECT_EQ(line(1), ":6");
  EXPECT_EQ(line(2), ":8");
}

TEST(CsvTable, DeclaredLabelsAreThereWhetherOrNotTheyOccur) {
  const auto data = read("a,b\n1,1\n1,0\n", "labels=1|0");
  EXPECT_EQ(label_names(data.space, 0), (Names{"0", "1"})) << "sorted as if both had occurred";
  EXPECT_EQ(label_names(data.space, 1), (Names{"0", "1"}));
  EXPECT_TRUE(torch::equal(data.labels, bytes({1, 1, 1, 0}, 2)));
  EXPECT_EQ(read("a\n2\n", "labels=10|9|2").space.label_name(0, 1), "9") << "as numbers";
}

TEST(CsvTable, AValueOutsideTheDeclaredLabelsIsNamed) {
  EXPECT_EQ(error_of("a,b\n0,1\n\n0,2\n", "labels=0|1"),
            ":4: column b has the label '2', which is not declared (labels=); it has 0, 1");
}

TEST(CsvTable, MissingValuesNeedNoDeclaration) {
  EXPECT_EQ(label_names(read("a,b\n1,1\nNA,0\n", "labels=0|1").space, 0), (Names{"0", "1", "(missing)"}));
  EXPECT_EQ(read("a,b\n1,1\nNA,0\n", "labels=0|1").space.n_labels(1), 2) << "only where they occur";
  EXPECT_EQ(label_names(read("a\n1\n", "labels=?|0|1").space, 0), (Names{"0", "1", "(missing)"})) << "or are declared";
  EXPECT_TRUE(test::contains(error_of("a\n1\nNA\n", "labels=0|1&missing=refuse"), ":3: column a is 'NA'"));
  EXPECT_TRUE(
      test::contains(input_error([] { read("a\n1\n", "labels=0|NA&missing=refuse"); }),
                     "option labels is '0|NA', labels without 'NA', which missing=refuse refuses, was expected"));
}

TEST(CsvTable, DeclaredLabelsAreGivenOnce) {
  EXPECT_TRUE(test::contains(input_error([] { read("a\n1\n", "labels=0|1|0"); }), "each label once was expected"));
  EXPECT_TRUE(test::contains(input_error([] { read("a\n1\n", "labels=0||1"); }), "a list a|b|... was expected"));
  EXPECT_TRUE(test::contains(input_error([] { read("a\n1\n", "labels=NA|?"); }), "each label once was expected"));
}

class Dictionary : public testing::Test {
 protected:
  std::string source(const std::string& text, const std::string& dictionary, const std::string& more = "") {
    write_text(folder_ / "t.csv", text);
    write_text(folder_ / "d.csv", dictionary);
    return concat("csv:", (folder_ / "t.csv").string(), "?dictionary=", (folder_ / "d.csv").string(), more);
  }
  Dataset read_with(const std::string& text, const std::string& dictionary, const std::string& more = "") {
    return read_csv_table(parse_source_name(source(text, dictionary, more)));
  }
  // The message without the file name.
  std::string error_of_file(const std::string& file, const std::string& text, const std::string& dictionary,
                            const std::string& more = "") {
    return test::after((folder_ / file).string(), input_error([&] { read_with(text, dictionary, more); }));
  }
  ScratchFolder folder_;
};

TEST_F(Dictionary, DeclaresTheLabelsOfTheColumnsItNames) {
  const std::string dictionary = "column,label\nsky,sun\nwind,no\nsky,rain\nwind,yes\n";
  const std::string text = "sky,wind,id\nsun,no,a\nsun,no,b\n";
  const auto data = read_with(text, dictionary);
  EXPECT_EQ(label_names(data.space, 0), (Names{"rain", "sun"}));
  EXPECT_EQ(label_names(data.space, 1), (Names{"no", "yes"}));
  EXPECT_EQ(label_names(data.space, 2), (Names{"a", "b"})) << "as found";
  EXPECT_EQ(label_names(read_with(text, dictionary, "&labels=a|b|c").space, 2), (Names{"a", "b", "c"}));
  EXPECT_EQ(read_with(text, dictionary, "&columns=wind").space.n_variables(), 1) << "others are no harm";
  EXPECT_EQ(error_of_file("t.csv", text + "snow,no,a\n", dictionary),
            concat(":4: column sky has the label 'snow', which is not declared (dictionary=",
                   (folder_ / "d.csv").string(), "); it has sun, rain"));
}

TEST_F(Dictionary, MistakesInItAreNamedWithTheirLine) {
  const std::string text = "sky,wind\nsun,no\n";
  EXPECT_EQ(error_of_file("d.csv", text, "columns,labels\nsky,sun\n"),
            ":1: header is 'columns,labels', column,label was expected in a dictionary of labels");
  EXPECT_EQ(error_of_file("d.csv", text, "column,label\n"), ": has a header but no labels");
  EXPECT_EQ(error_of_file("d.csv", text, "column,label\nsky,sun\nsky,sun\n"),
            ":3: column sky: label 'sun' is declared twice");
  EXPECT_EQ(error_of_file("d.csv", text, "column,label\nsky,sun\nwnd,no\n"),
            concat(":3: column 'wnd' is not in ", (folder_ / "t.csv").string(), "; the nearest is wind"));
  EXPECT_EQ(error_of_file("d.csv", text, "column,label\nsky,sun\nsky,\n", "&missing=refuse"),
            ":3: column sky: label '' is a missing value, a label was expected (missing=refuse)");
}

TEST(CsvTable, DeclaredColumnsAreLabelsHoweverManyThereAre) {
  std::string labels = "labels=";
  std::string text = "a\n";
  for (int k = 0; k < 60; ++k) {
    labels += concat(k > 0 ? "|" : "", k, ".5");
    text += concat(k, ".5\n");
  }
  EXPECT_EQ(read(text, labels).space.n_labels(0), 60);
  EXPECT_EQ(read(text, labels).space.bins(0), nullptr);
  EXPECT_TRUE(read(text).space.bins(0)->are_levels) << "undeclared";
}

TEST(CsvTable, TextThatIsNotUtf8IsRefusedAtItsLineOrConverted) {
  const std::string text =
      "town,b\nparis,1\norl\xe9"
      "ans,1\n";
  EXPECT_EQ(error_of(text),
            ":3: column town is not UTF-8: \\xe9 at byte 4 of 'orl\\xe9"
            "ans'; if the file is Latin-1, read it with "
            "encoding=latin1");
  EXPECT_EQ(read(text, "encoding=latin1").space.label_name(0, 0),
            "orl\xc3\xa9"
            "ans");
  EXPECT_EQ(read("t\xe9te\n1\n", "encoding=latin1").space.variable_name(0), "t\xc3\xa9te");
  EXPECT_EQ(read("a\norl\xc3\xa9"
                 "ans\n",
                 "encoding=utf8")
                .space.label_name(0, 0),
            "orl\xc3\xa9"
            "ans");
  EXPECT_TRUE(test::contains(input_error([] { read("a\n1\n", "encoding=ascii"); }), "one of utf8, latin1"));
}

TEST(CsvTable, ColumnsAreChosenAndLeftOut) {
  const std::string text = "a,b,c\n1,x,p\n2,y,p\n";
  EXPECT_EQ(read(text, "columns=c,a").space.variable_name(1), "a");
  EXPECT_TRUE(torch::equal(read(text, "columns=c,a").labels, bytes({0, 0, 0, 1}, 2)));
  EXPECT_EQ(read(text, "without=a,c").space.variable_name(0), "b");
  EXPECT_EQ(read(text, "without=a,c").space.n_variables(), 1);
  EXPECT_EQ(error_of(text, "columns=a,bb"), ": has no column 'bb'; the nearest is b");
  EXPECT_EQ(error_of(text, "without=d"), ": has no column 'd'; the nearest is a");
  EXPECT_TRUE(test::contains(input_error([&] { read(text, "without=a,b,c"); }), ": no column is left"));
  EXPECT_TRUE(test::contains(input_error([&] { read(text, "columns=a,a"); }), "each column once"));
}

TEST(CsvTable, LimitDelimiterAndGzip) {
  EXPECT_EQ(read("a\n1\n2\n3\n", "limit=2").labels.size(0), 2);
  EXPECT_EQ(read("a;b\n1;2\n", "delimiter=semicolon").space.n_variables(), 2);
  EXPECT_EQ(read("a\tb,c\n1\t2\n", "delimiter=tab").space.variable_name(1), "b,c");
  EXPECT_TRUE(torch::equal(read(test::gzip_bytes("a,b\n1,x\n0,y\n")).labels, bytes({1, 0, 0, 1}, 2)));
}

// The name of a table's source, and the message that refuses it, without the file name.
std::pair<std::string, std::string> refused(const std::string& text, const std::string& options = "") {
  const ScratchFolder folder;
  const auto file = (folder / "t.csv").string();
  write_text(file, text);
  const auto name = parse_source_name("csv:" + file + options);
  return {"csv:" + file, test::after(file, input_error([&] { read_csv_table(name); }))};
}

// A column of `distinct` values, repeated to fill `rows`.
std::string column(int rows, int distinct, const std::string& prefix) {
  std::string text = "id\n";
  for (int r = 0; r < rows; ++r) text += concat(prefix, r % distinct, "\n");
  return text;
}

// The table of `text` beside a column of labels, which is left when the other is not.
std::string with_labels(const std::string& text) {
  std::string out;
  bool is_first = true;
  bool is_header = true;
  for (const std::string& line : split(text, '\n')) {
    if (line.empty()) continue;
    out += concat(line, ",", is_header ? "sex" : is_first ? "m" : "f", "\n");
    is_first = !is_header && !is_first;
    is_header = false;
  }
  return out;
}

// Whether the column of `text` is left out beside another one.
bool is_left_out(const std::string& text, const std::string& options = "") {
  return read(with_labels(text), options).space.variable_name(0) == "sex";
}

TEST(CsvTable, ColumnsLikeIdentifiersAreLeftOut) {
  EXPECT_TRUE(is_left_out(column(200, 101, "k")));
  EXPECT_FALSE(is_left_out(column(200, 100, "k"))) << "half of the rows are labels still";
  EXPECT_FALSE(is_left_out(column(60, 50, "k"))) << "and so are fifty";
  EXPECT_EQ(read(column(200, 200, "k"), "max_labels=200").space.n_labels(0), 200);
  EXPECT_TRUE(is_left_out(column(200, 20, "k"), "max_labels=19"));
}

TEST(CsvTable, WhereEveryRowHasItsOwnItIsAnIdentifier) {
  EXPECT_TRUE(is_left_out(column(20, 20, "k"))) << "in so many rows not by chance";
  EXPECT_FALSE(is_left_out(column(19, 19, "k")));
  EXPECT_FALSE(is_left_out(column(21, 20, "k"))) << "one is there twice";
  EXPECT_TRUE(is_left_out(column(89, 89, "1"))) << "numbers that ascend with the rows";
  std::string descending = "id\n";
  std::string gaps = "id\n";
  for (int k = 0; k < 30; ++k) {
    descending += concat(30 - k, "\n");
    gaps += concat(k * 37 % 101, "\n");
  }
  EXPECT_TRUE(is_left_out(descending)) << "without a gap, in any order";
  EXPECT_FALSE(is_left_out(gaps)) << "few numbers with gaps may be measured";
  EXPECT_FALSE(is_left_out(column(89, 89, "1"), "numbers=id:levels")) << "as requested";
}

TEST(CsvTable, WhatIsLeftOutIsNoted) {
  const ScratchFolder folder;
  const auto file = (folder / "t.csv").string();
  std::string text = "id,none,sex,price\n";
  for (int k = 0; k < 60; ++k) text += concat("k", k, ",,", k % 3 == 0 ? "m" : "f", ",", k, ".5\n");
  write_text(file, text);
  testing::internal::CaptureStderr();
  EXPECT_EQ(read_csv_table(parse_source_name("csv:" + file)).space.variable_name(0), "sex");
  const std::string notes = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(test::contains(notes, concat("note: ", file, ": a column of numbers: price (0.5 to 59.5, "))) << notes;
  EXPECT_TRUE(test::contains(notes, concat("\nnote: ", file, ": left out: id (60 different values in 60 rows), none ",
                                           "(only missing values)\n")))
      << notes;
}

TEST(CsvTable, ATableOfWhichNothingIsLeftIsRefused) {
  const auto [source, message] = refused(column(200, 101, "k"));
  EXPECT_EQ(message, concat(": no column is left to learn: column id has 101 different values in 200 rows; keep all "
                            "values as labels with '",
                            source, "?max_labels=101'"));
  EXPECT_EQ(error_of("a,b\n,NA\n,\n"),
            ": no column is left to learn: column a has only missing values, column b has only missing values");
}

TEST(CsvTable, TheMissingLabelIsNotCountedAmongTheValues) {
  EXPECT_EQ(read(column(60, 50, "k") + "NA\n").space.n_labels(0), 51) << "fifty values are labels";
  EXPECT_TRUE(is_left_out(column(51, 51, "k") + "NA\n"));
  EXPECT_EQ(read(column(9, 3, "k") + "NA\n", "max_labels=3").space.n_labels(0), 4);
  EXPECT_TRUE(is_left_out(column(9, 4, "k") + "NA\n", "max_labels=3"));
  EXPECT_EQ(read(column(1000, 20, "1") + "NA\n").space.n_labels(0), 21) << "few values have labels of their own";
}

TEST(CsvTable, NumbersAreLevels) {
  for (const char* prefix : {"1.5", "1"}) {
    const auto data = read(column(1000, 150, prefix));
    ASSERT_NE(data.space.bins(0), nullptr);
    EXPECT_TRUE(data.space.bins(0)->are_levels);
    EXPECT_EQ(data.space.columns().size(), 1U) << "one column, whatever variables it has";
    EXPECT_GT(data.space.n_variables(), 1);
  }
  EXPECT_EQ(read(column(1000, 30, "1.5"), "max_labels=30").space.bins(0), nullptr);
  EXPECT_EQ(read(column(1000, 30, "1.5"), "numbers=labels").space.n_labels(0), 30);
  EXPECT_EQ(read(column(1000, 30, "1.5"), "numbers=id:labels").space.bins(0), nullptr);
  EXPECT_EQ(read(column(1000, 30, "1.5"), "numbers=bins").space.label_name(0, 0).front(), '[');
  EXPECT_EQ(read("flag\n0\n1\n0\n").space.bins(0), nullptr) << "two numbers are labels";
  EXPECT_EQ(read(column(100, 30, "00")).space.bins(0), nullptr) << "codes are texts";
  for (const char* text : {"1%", "1,000", "$5"})
    EXPECT_EQ(read(concat("a\n\"", text, "\"\n2\n3\n4\n")).space.bins(0), nullptr) << text;
}

TEST(CsvTable, ANumberIsOneHoweverItIsWritten) {
  const auto data = read("a\n5\n5.0\n6\n7\n5.00\n");
  EXPECT_EQ(data.space.n_labels(0), 3);
  EXPECT_TRUE(torch::equal(data.labels, bytes({0, 0, 1, 2, 0}, 1)));
  EXPECT_EQ(read("a\n5\n5.0\n").space.n_labels(0), 1);
  EXPECT_EQ(read("a\n-0.0\n0\n1\n2\n").space.label_name(0, 0), "0");
}

TEST(CsvTable, DatesAreLevels) {
  std::string text = "day\n";
  for (int k = 0; k < 1000; ++k) text += concat("2020-01-", 10 + k % 21, "\n");
  const auto data = read(text);
  EXPECT_TRUE(data.space.bins(0)->are_levels);
  EXPECT_EQ(data.space.bins(0)->unit, Bins::Unit::day);
  EXPECT_EQ(read(text, "max_labels=21").space.bins(0), nullptr);
}

// Dates of 1000 rows in a pattern of strftime's: a column "d".
std::string dates(const char* pattern) {
  std::string text = "d\n";
  for (int k = 0; k < 1000; ++k) {
    const std::time_t seconds = 1'700'000'000 + 86'461 * (k * 37 % 500);
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    char written[64];
    text.append(written, std::strftime(written, sizeof written, pattern, &parts));
    text += "\n";
  }
  return text;
}

TEST(CsvTable, DatesAreWrittenAsTheyAreRead) {
  for (const char* pattern :
       {"%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S+01:00", "%Y/%m/%d",
        "%d.%m.%Y", "%m/%d/%Y", "%d-%m-%Y %H:%M", "%H:%M:%S", "%j days %H:%M:%S"}) {
    const std::string text = dates(pattern);
    const auto data = read(text);
    const Bins* bins = data.space.bins(0);
    ASSERT_NE(bins, nullptr) << pattern;
    ASSERT_TRUE(bins->are_levels) << pattern;
    EXPECT_EQ(Space::from_json(data.space.to_json()).bins(0)->pattern, bins->pattern);
    if (pattern[1] == 'j') continue;  // with zeros
    std::set<std::string> there;
    for (const std::string& line : split(text, '\n')) there.insert(line);
    EXPECT_TRUE(there.contains(bins->text_of(bins->least()))) << bins->text_of(bins->least());
    EXPECT_TRUE(there.contains(bins->text_of(bins->largest()))) << bins->text_of(bins->largest());
  }
}

TEST(CsvTable, DatesThatCouldBeReadInTwoWaysAreTexts) {
  std::string text = "d,sex\n";
  for (int k = 0; k < 60; ++k) text += concat("0", 1 + k % 9, "/0", 1 + k / 9, "/2024,", k % 2 == 0 ? "m" : "f", "\n");
  EXPECT_EQ(read(text).space.variable_name(0), "sex") << "54 texts";
  EXPECT_NE(read(text + "13/01/2024,m\n").space.bins(0), nullptr) << "one of them decides";
}

TEST(CsvTable, WhatMarksAMissingValueIsSeenInTheColumn) {
  for (const char* mark : {"?", "-", "unknown", "."}) {
    const auto data = read(concat("a\n1\n2\n", mark, "\n3\n4\n"));
    EXPECT_EQ(label_names(data.space, 0), (Names{"1", "2", "3", "4", "(missing)"})) << mark;
    EXPECT_EQ(data.space.missing_text(0), mark);
    EXPECT_TRUE(torch::equal(data.labels, bytes({0, 1, 4, 2, 3}, 1)));
    const auto unknown = read(concat("a\n1\n2\n", mark, "\n3\n4\n"), "missing=unknown");
    EXPECT_TRUE(
        torch::equal(unknown.labels.view(-1).to(torch::kInt64), torch::tensor({0, 1, -1, 2, 3}, torch::kInt64)));
    EXPECT_EQ(error_of(concat("a\n1\n2\n", mark, "\n3\n"), "missing=refuse"),
              concat(":4: column a is '", mark, "', a missing value; a label was expected (missing=refuse)"));
  }
  EXPECT_EQ(label_names(read("a\nyes\nno\n?\n").space, 0), (Names{"no", "yes", "(missing)"})) << "among words";
  EXPECT_EQ(label_names(read("a\n!\n.\n?\n").space, 0), (Names{"!", ".", "?"})) << "among other marks";
  EXPECT_EQ(label_names(read("a\ncook\nunknown\n-\n").space, 0), (Names{"-", "cook", "unknown"}));
  EXPECT_TRUE(torch::equal(read("a\nyes\nno\n?\n", "missing=unknown").labels.view(-1).to(torch::kInt64),
                           torch::tensor({1, 0, -1}, torch::kInt64)));
}

// An identifier, a measurement, dates, labels, and a number that is missing once.
std::string mixed(int rows) {
  std::string text = "id,fare,born,sex,age\n";
  for (int k = 0; k < rows; ++k)
    text += concat("k", k, ",", k / 2 + 0.25, ",", k % 2 == 0 ? "1970-01-01" : concat("19", 10 + k % 89, "-02-03"), ",",
                   k % 3 == 0 ? "m" : "f", ",", k == 7 ? "" : std::to_string(k % 80), "\n");
  return text;
}

TEST(CsvTable, AMixedTableIsReadWithoutOptions) {
  const auto data = read(mixed(200));
  std::vector<std::string> names;
  for (const Column& column : data.space.columns()) names.push_back(column.name);
  EXPECT_EQ(names, (Names{"fare", "born", "sex", "age"})) << "the identifier is left out";
  for (const Column& column : data.space.columns()) {
    const Bins* bins = data.space.bins(column.first);
    EXPECT_EQ(bins != nullptr && bins->are_levels, column.name != "sex") << column.name;
  }
  EXPECT_EQ(data.labels.size(0), 200);
}

TEST(CsvTable, OfManyColumnsLeftOutAFewAreDescribed) {
  std::string header;
  std::string row;
  for (int i = 0; i < 12; ++i) header += concat(i > 0 ? "," : "", "c", i);
  for (int k = 0; k < 60; ++k)
    for (int i = 0; i < 12; ++i) row += concat("v", k, i + 1 < 12 ? "," : "\n");
  EXPECT_TRUE(test::contains(refused(header + "\n" + row).second,
                             "column c7 has 60 different values in 60 rows, and 4 more columns likewise; keep all"));
}

TEST(CsvTable, WhatIsProposedIsWhatWorks) {
  const ScratchFolder folder;
  const auto file = (folder / "t.csv").string();
  write_text(file, column(200, 150, "k"));
  const auto message = input_error([&] { read_csv_table(parse_source_name("csv:" + file)); });
  const size_t at = message.find("'csv:");
  ASSERT_NE(at, std::string::npos);
  const auto way = message.substr(at + 1, message.find('\'', at + 1) - at - 1);
  EXPECT_EQ(read_csv_table(parse_source_name(way)).space.n_labels(0), 150);
}

TEST(CsvTable, BinsMakeLabelsOfNumbersByTheirQuantiles) {
  const auto data = read("age,sex\n20,m\n80,f\n35,f\n34,m\n", "bins=age:2");
  EXPECT_EQ(label_names(data.space, 0), (Names{"[20, 35)", "[35, 80]"}));
  EXPECT_EQ(label_names(data.space, 1), (Names{"f", "m"}));
  EXPECT_TRUE(torch::equal(data.labels, bytes({0, 1, 1, 0, 1, 0, 0, 1}, 2)));
  ASSERT_NE(data.space.bins(0), nullptr);
  EXPECT_EQ(data.space.bins(0)->edges, (std::vector<double>{20, 35, 80}));
  EXPECT_EQ(data.space.bins(0)->decimals, 0);
  EXPECT_EQ(data.space.bins(1), nullptr);
}

TEST(CsvTable, BinsMakeLabelsOfDates) {
  const auto data = read("d\n2020-01-03\n2022-09-09\n2021-05-06\n2020-02-01\n", "bins=d:2");
  EXPECT_EQ(label_names(data.space, 0), (Names{"[2020-01-03, 2021-05-06)", "[2021-05-06, 2022-09-09]"}));
  EXPECT_EQ(data.space.bins(0)->unit, Bins::Unit::day);
  EXPECT_EQ(label_names(read("d\n2020-01-03 10:30\n2020-01-03 10:31\n", "bins=d:1").space, 0),
            Names{"[2020-01-03 10:30, 2020-01-03 10:31]"});
}

TEST(CsvTable, MissingValuesAreALabelBehindTheBins) {
  const auto data = read("a,b\n1,1\nNA,2\n3,3\n", "bins=a:2,b:2");
  EXPECT_EQ(label_names(data.space, 0), (Names{"[1, 3)", "[3, 3]", "(missing)"}));
  EXPECT_EQ(label_names(data.space, 1), (Names{"[1, 2)", "[2, 3]"}));
  EXPECT_TRUE(torch::equal(data.labels, bytes({0, 0, 2, 1, 1, 1}, 2)));
  EXPECT_EQ(error_of("a,b\nNA,2\n", "bins=a:2"), ": column a has only missing values, nothing to bin (bins=)");
}

TEST(CsvTable, AutomaticBinsTakeMeasurementsAndDatesAndNoIdentifiers) {
  const auto data = read(mixed(200), "bins=auto&without=id");
  EXPECT_EQ(data.space.n_labels(0), 10);
  EXPECT_EQ(data.space.label_name(0, 0), "[0.25, 10.25)");
  EXPECT_NE(data.space.bins(1), nullptr);
  EXPECT_EQ(data.space.label_name(1, 0).substr(0, 13), "[1910-02-03, ");
  EXPECT_EQ(label_names(data.space, 2), (Names{"f", "m"}));
  EXPECT_TRUE(data.space.bins(3)->are_levels) << "whole numbers that repeat";
  EXPECT_EQ(read(mixed(200), "bins=auto,age:4&without=id").space.n_labels(3), 5);
  EXPECT_EQ(read(mixed(200), "bins=auto").space.to_json(), data.space.to_json()) << "identifiers are left out";
}

TEST(CsvTable, EachValueFallsIntoTheBinThatHoldsIt) {
  const auto data = read(mixed(200), "bins=auto&columns=fare");
  const Bins& bins = *data.space.bins(0);
  for (int k = 0; k < 200; ++k) EXPECT_EQ(data.labels[k][0].item<int64_t>(), bins.find(k / 2 + 0.25));
  EXPECT_TRUE(torch::equal(torch::bincount(data.labels.view(-1).to(torch::kInt64)), torch::full({10}, 20)));
}

TEST(CsvTable, BinsAreGivenForColumnsOfNumbersOrDatesOnce) {
  const std::string text = "a,b\n1,x\n2,y\n";
  EXPECT_EQ(error_of(text, "bins=b:2"), ":2: column b is 'x', a number or a date was expected (bins=)");
  EXPECT_EQ(error_of("a\n1\n2020-01-01\n", "bins=a:2"), ":3: column a is '2020-01-01', a number was expected (bins=)");
  EXPECT_EQ(error_of("a\n2020-01-01\n1\n", "bins=a:2"), ":3: column a is '1', a date was expected (bins=)");
  EXPECT_EQ(error_of(text, "bins=aa:2"), ": has no column 'aa' to bin (bins=); the nearest is a");
  for (const char* option : {"bins=a", "bins=a:0", "bins=a:x", "bins=a:65536", "bins=a:2:"})
    EXPECT_TRUE(test::contains(input_error([&] { read(text, option); }),
                               "auto, or columns with their number of bins, 1 to 65535, such as age:8,fare:10, was "
                               "expected"))
        << option;
  EXPECT_TRUE(test::contains(input_error([&] { read(text, "bins=a:2,a:3"); }), "each column once"));
  EXPECT_EQ(read("a:b,c\n1,2\n", "bins=a:b:1").space.label_name(0, 0), "[1, 1]") << "names may have colons";
  EXPECT_EQ(read(text, "bins=a:2&labels=x|y").space.n_labels(0), 2) << "labels= is for the others";
}

TEST(CsvTable, AHeadlessFileOfNumbersIsNotGuessedAtWithBinsEither) {
  EXPECT_TRUE(test::contains(error_of(column(100, 100, "1.5").substr(3), "bins=auto"), "named after one of its own"));
}

TEST(CsvTable, MoreValuesThanLabelsCanBeAreNumbersOrLeftOut) {
  std::string text = "id,fare\n";
  for (int k = 0; k < 70'000; ++k) text += concat("k", k, ",", k, ".5\n");
  const auto levels = read(text);
  EXPECT_EQ(levels.space.variable_name(0), "fare") << "id is left out";
  const Bins& bins = *levels.space.bins(0);
  const auto last = levels.labels[69'999].to(torch::kInt64);
  EXPECT_EQ(bins.number_of({last[0].item<int64_t>(), last[1].item<int64_t>()}), bins.n_intervals() - 1);
  for (const char* option : {"without=id&bins=fare:10", "without=id&bins=auto"}) {
    const auto data = read(text, option);
    EXPECT_EQ(data.space.bins(0)->edges[1], 7000.5) << option;
    EXPECT_EQ(data.labels[69'999][0].item<int64_t>(), 9) << option;
    EXPECT_EQ(data.labels[0][0].item<int64_t>(), 0) << option;
  }
  EXPECT_TRUE(test::contains(error_of(text + "k,abc\n", "without=id&bins=auto"),
                             "column fare has more than 65536 different values in 70001 rows"))
      << "no numbers after all";
}

TEST(CsvTable, ADelimiterThatIsNoCommaIsFoundWithANote) {
  const ScratchFolder folder;
  const auto file = (folder / "t.csv").string();
  write_text(file, "a;b\n1;2,5\n");
  testing::internal::CaptureStderr();
  EXPECT_EQ(read_csv_table(parse_source_name("csv:" + file)).space.n_variables(), 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "note: " + file + ": fields are separated by semicolons (delimiter=semicolon)\n");
  testing::internal::CaptureStderr();
  EXPECT_EQ(read_csv_table(parse_source_name("csv:" + file + "?delimiter=semicolon")).space.n_variables(), 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(read("a;b\n1;2\n", "delimiter=comma").space.n_variables(), 1) << "what is given wins";
  EXPECT_EQ(read("a\n1\n0\n").space.n_variables(), 1);
}

TEST(CsvTable, UnseenLabelsAreAMatterOfModels) {
  EXPECT_TRUE(test::contains(input_error([] { read("a\n1\n", "unseen=skip"); }),
                             "unseen= is for labels that a model never saw, but the table is not read for a model"));
}

TEST(CsvTable, MoreThan256LabelsNeedWiderNumbers) {
  const auto data = read(column(1000, 300, "k"));
  EXPECT_EQ(data.labels.scalar_type(), torch::kInt32);
  EXPECT_EQ(data.space.label_name(0, data.labels[299][0].item<int64_t>()), "k299");
  const auto full = read(column(1000, 256, "k") + "NA\n");
  EXPECT_EQ(full.space.n_labels(0), 257);
  EXPECT_EQ(full.labels[1000][0].item<int64_t>(), 256);
}

TEST(CsvTable, RaggedEmptyAndDoubledAreNamed) {
  EXPECT_EQ(error_of("a,b\n1,2\n1\n"), ":3: 1 fields, but the header has 2");
  EXPECT_EQ(error_of(""), ": is empty, a header line was expected");
  EXPECT_EQ(error_of("a,b\n"), ": has a header but no rows");
  EXPECT_EQ(error_of("a,b,a\n1,2,3\n"),
            ":1: column 'a' is named twice; if the file has no header, read it with header=0");
}

TEST(CsvTable, ColumnsWithoutNamesAreNamedByPosition) { EXPECT_EQ(read(",b\n1,2\n").space.variable_name(0), "x1"); }

TEST(CsvTable, ThousandsOfColumnsAreReadInLittleTime) {
  constexpr int kColumns = 2000;
  constexpr int kRows = 500;
  std::string text;
  for (int i = 0; i < kColumns; ++i) text += concat(i > 0 ? "," : "", "c", i);
  text += '\n';
  for (int r = 0; r < kRows; ++r)
    for (int i = 0; i < kColumns; ++i) text += concat((r * 31 + i * 17) % 7 % 2, i + 1 < kColumns ? "," : "\n");
  const double start = test::thread_seconds();
  const auto data = read(text);
#ifdef __SANITIZE_ADDRESS__
  constexpr double kSeconds = 30.0;  // every access is checked
#else
  constexpr double kSeconds = 1.0;
#endif
  EXPECT_LT(test::thread_seconds() - start,
            kSeconds);  // 0.05 s when written; quadratic work would take minutes
  EXPECT_EQ(data.space.n_coordinates(), 2 * kColumns);
  EXPECT_EQ(data.labels[3][5].item<int64_t>(), (3 * 31 + 5 * 17) % 7 % 2);
}

TEST(CsvTable, AMillionColumnsAreReadInLinearTime) {
  constexpr int kColumns = 1'000'000;
  std::string header;
  std::string row;
  for (int i = 0; i < kColumns; ++i) {
    header += concat(i > 0 ? ",c" : "c", i);
    row += i > 0 ? ",x" : "x";
  }
  const double start = test::thread_seconds();
  EXPECT_EQ(read(header + "\n" + row + "\n").space.n_variables(), kColumns);
  EXPECT_LT(test::thread_seconds() - start, 60.0);  // a few seconds; quadratic work would take hours
}

TEST(CsvTable, NamesWithLineEndsAreShownOnOneLine) {
  EXPECT_EQ(error_of("\"a\nb\",\"a\nb\"\n1,2\n"),
            ":1: column 'a\\nb' is named twice; if the file has no header, read it with header=0");
}

}  // namespace
}  // namespace segre::read_table_test
