#include "segre/data/readers.h"
#include "tests/support/archives.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre {
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

// The message less the file's name.
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

TEST(CsvTable, MissingValuesAreRefusedOnRequest) {
  EXPECT_EQ(error_of("a,b\n3,x\n4,NA\n", "missing=refuse"),
            ":3: column b is 'NA', which stands for a missing value; a label was expected (missing=refuse)");
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

// A column of `distinct` values, repeated to fill `rows`.
std::string column(int rows, int distinct, const std::string& prefix) {
  std::string text = "id\n";
  for (int r = 0; r < rows; ++r) text += concat(prefix, r % distinct, "\n");
  return text;
}

TEST(CsvTable, ColumnsLikeIdentifiersAreRefusedWithAdvice) {
  EXPECT_EQ(
      error_of(column(200, 101, "k")),
      ": column id has 101 different values in 200 rows, too many to be labels: leave it out (without=id), put its "
      "values into bins, or take them as they are (max_labels=101)");
  EXPECT_EQ(read(column(200, 100, "k")).space.n_labels(0), 100) << "half of the rows are labels still";
  EXPECT_EQ(read(column(50, 50, "k")).space.n_labels(0), 50) << "and so are fifty";
  EXPECT_EQ(read(column(200, 200, "k"), "max_labels=200").space.n_labels(0), 200);
  EXPECT_TRUE(test::contains(error_of(column(200, 20, "k"), "max_labels=19"), "has 20 different values, too many"));
}

TEST(CsvTable, MeasurementsAreRefusedWithAdvice) {
  EXPECT_TRUE(test::contains(error_of(column(1000, 30, "1.5")), "30 different numbers with fractions, too many"));
  EXPECT_EQ(read(column(1000, 20, "1.5")).space.n_labels(0), 20) << "a coarse scale";
  EXPECT_EQ(read(column(1000, 30, "1")).space.n_labels(0), 30) << "whole numbers";
  EXPECT_EQ(read(column(1000, 30, "1.5"), "max_labels=30").space.n_labels(0), 30);
}

TEST(CsvTable, MoreValuesThanLabelsCanBeStopsTheReading) {
  EXPECT_TRUE(test::contains(error_of(column(70'000, 70'000, "k")), "65537 different values by line 65538, too many"));
}

TEST(CsvTable, MoreThan256LabelsNeedWiderNumbers) {
  const auto data = read(column(1000, 300, "1"));
  EXPECT_EQ(data.labels.scalar_type(), torch::kInt32);
  EXPECT_EQ(data.space.label_name(0, data.labels[299][0].item<int64_t>()), "1299");
  const auto full = read(column(1000, 256, "1") + "NA\n");
  EXPECT_EQ(full.space.n_labels(0), 257);
  EXPECT_EQ(full.labels[1000][0].item<int64_t>(), 256);
}

TEST(CsvTable, RaggedEmptyAndDoubledAreNamed) {
  EXPECT_EQ(error_of("a,b\n1,2\n1\n"), ":3: 1 fields where the header has 2");
  EXPECT_EQ(error_of(""), ": is empty, a header line was expected");
  EXPECT_EQ(error_of("a,b\n"), ": has a header and no rows");
  EXPECT_EQ(error_of("a,b,a\n1,2,3\n"), ":1: column 'a' is named twice");
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
  EXPECT_LT(test::thread_seconds() - start, 1.0);  // 0.05 s where it was written; quadratic work would take minutes
  EXPECT_EQ(data.space.n_coordinates(), 2 * kColumns);
  EXPECT_EQ(data.labels[3][5].item<int64_t>(), (3 * 31 + 5 * 17) % 7 % 2);
}

}  // namespace
}  // namespace segre
