#include "segre/io/csv.h"

#include <sstream>

#include "segre/io/csv_reader.h"
#include "tests/support/archives.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre {
namespace {

using test::input_error;
using test::ScratchFolder;
using test::write_text;
using Fields = std::vector<std::string>;

std::vector<CsvRow> parse(const std::string& text) {
  const ScratchFolder folder;
  write_text(folder / "t.csv", text);
  return read_csv(folder / "t.csv");
}

// The message without the file's name in front, which is checked here.
std::string error_of(const std::string& text) {
  const ScratchFolder folder;
  const auto file = (folder / "t.csv").string();
  write_text(file, text);
  return test::after(file, input_error([&] { read_csv(file); }));
}

TEST(Csv, RowsHaveTheirLineNumbers) {
  const auto rows = parse("a,b\n1,2\n3,4\n");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].fields, (Fields{"a", "b"}));
  EXPECT_EQ(rows[2].fields, (Fields{"3", "4"}));
  for (int64_t k = 0; k < 3; ++k) EXPECT_EQ(rows[k].line, k + 1);
}

TEST(Csv, TheLastLineMayLackItsEnd) {
  const auto rows = parse("a,b\n1,2");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].fields, (Fields{"1", "2"}));
}

TEST(Csv, QuotedFieldsKeepCommasQuotesAndBlanks) {
  const auto rows = parse("\"a,b\",\"say \"\"hi\"\"\",\" x \",\"\"\n");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].fields, (Fields{"a,b", "say \"hi\"", " x ", ""}));
}

TEST(Csv, LineEndsMayBeCrLf) {
  const auto rows = parse("a,b\r\n1,2\r\n\r\n3,4\r\n");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].fields, (Fields{"a", "b"}));
  EXPECT_EQ(rows[2].fields, (Fields{"3", "4"}));
  EXPECT_EQ(rows[2].line, 4);
}

TEST(Csv, LinesAreCountedThroughQuotedNewlines) {
  const auto rows = parse("a,b\n\"x\ny\nz\",2\n3,4\n");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1].fields[0], "x\ny\nz");
  EXPECT_EQ(rows[1].line, 2) << "a row is where it starts";
  EXPECT_EQ(rows[2].line, 5);
}

TEST(Csv, AByteOrderMarkIsNoPartOfTheFirstName) {
  EXPECT_EQ(parse("\xef\xbb\xbf"
                  "a,b\n")[0]
                .fields[0],
            "a");
}

TEST(Csv, BlankLinesAreSkippedAndCounted) {
  const auto rows = parse("\na,b\n\n\n1,2\n\n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].line, 2);
  EXPECT_EQ(rows[1].line, 5);
}

TEST(Csv, AQuotedEmptyFieldIsNoBlankLine) {
  const auto rows = parse("a\n\"\"\n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].fields, Fields{""});
}

TEST(Csv, AnEmptyFileIsRefused) {
  EXPECT_EQ(error_of(""), ": is empty, a header line was expected");
  EXPECT_EQ(error_of("\n\r\n\n"), ": is empty, a header line was expected");
}

TEST(Csv, AnUnclosedQuoteIsNamedWithTheLineItOpensOn) {
  EXPECT_EQ(error_of("a,b\n1,2\n3,\"4\n5,6\n"), ":3: a quote is opened and never closed");
}

TEST(Csv, ARowWithAnotherNumberOfFieldsIsNamedWithItsLine) {
  EXPECT_EQ(error_of("a,b\n1,2\n\n1,2,3\n"), ":4: 3 fields where the header has 2");
  EXPECT_EQ(error_of("a,b\n\"x\ny\",2\n1\n"), ":4: 1 fields where the header has 2");
  EXPECT_EQ(error_of("a,b\n1,2,"), ":2: 3 fields where the header has 2");
}

TEST(Csv, AnyTextSurvivesWritingAndReading) {
  const Fields texts{"plain", "", "a,b", "\"", "\"\"", "two\nlines", "cr\r", "\r\n", " blank ", "\xc3\xa9", "a\"b\",c"};
  std::string line;
  for (const auto& text : texts) line += concat(&text == texts.data() ? "" : ",", csv_field(text));
  const auto rows = parse(line + "\n");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].fields, texts);
}

TEST(Csv, OnlyFieldsThatNeedQuotesGetThem) {
  EXPECT_EQ(csv_field("a b'c;d"), "a b'c;d");
  EXPECT_EQ(csv_field("a\"b"), "\"a\"\"b\"");
}

TEST(Csv, PackedFilesReadTheSame) {
  const auto rows = parse(test::gzip_bytes("a,b\n1,2\n"));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].fields, (Fields{"1", "2"}));
}

TEST(CsvReader, RowsComeOneByOneWithTheDelimiterAsked) {
  const ScratchFolder folder;
  write_text(folder / "t.csv", "a;b\n\n1,5;\"2;3\"\n");
  CsvReader csv(folder / "t.csv", ';');
  ASSERT_TRUE(csv.next());
  EXPECT_EQ(csv.n_fields(), 2);
  EXPECT_EQ(csv.field(1), "b");
  ASSERT_TRUE(csv.next());
  EXPECT_EQ(csv.line(), 3);
  EXPECT_EQ(csv.field(0), "1,5");
  EXPECT_EQ(csv.field(1), "2;3");
  EXPECT_FALSE(csv.next());
}

TEST(CsvReader, RowsThatCrossItsBufferAreWhole) {
  const std::string field(700'000, 'x');  // the buffer has a megabyte
  const auto rows = parse(concat("a,b\n", field, ",\"", field, "\"\"\n\"\n", field, ",2\n"));
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1].fields[1], field + "\"\n");
  EXPECT_EQ(rows[2].fields[0], field);
  EXPECT_EQ(rows[2].line, 4);
}

TEST(LabelsCsv, WritesNamesOfVariablesAndLabels) {
  const Space space = Space::table({{"a,b", 2, {"no", "yes, \"sir\""}}, {"", 3, {}}});
  const auto labels = torch::tensor({{1, 2}, {0, 0}}, torch::kInt64);
  std::ostringstream out;
  write_labels_csv(out, space, labels, /*with_header=*/true);
  EXPECT_EQ(out.str(), "\"a,b\",x2\n\"yes, \"\"sir\"\"\",2\nno,0\n");
}

TEST(LabelsCsv, FollowingBatchesHaveNoHeader) {
  const Space space = test::binary_space(3);
  std::ostringstream out;
  write_labels_csv(out, space, torch::tensor({{1, 0, 1}}, torch::kInt64), /*with_header=*/false);
  EXPECT_EQ(out.str(), "1,0,1\n");
}

TEST(LabelsCsv, ReadsLabelsOfAnyStride) {
  std::ostringstream out;
  const auto columns = torch::tensor({{0, 1, 1}, {1, 1, 0}}, torch::kInt64);
  write_labels_csv(out, test::binary_space(2), columns.t(), /*with_header=*/false);
  EXPECT_EQ(out.str(), "0,1\n1,1\n1,0\n");
}

}  // namespace
}  // namespace segre
