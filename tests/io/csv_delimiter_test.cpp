#include "segre/io/csv_delimiter.h"

#include "segre/io/csv_reader.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::csv_delimiter_test {
namespace {

using test::input_error;
using test::ScratchFolder;
using test::write_text;

TEST(CsvDelimiter, IsWhatTheFirstRowHasAndTheNextHaveAsOften) {
  EXPECT_EQ(likely_delimiters("a;b\n1;2\n", true), ";");
  EXPECT_EQ(likely_delimiters("a\tb\tc\n1\t2\t3\n", true), "\t");
  EXPECT_EQ(likely_delimiters("a|b\r\n1|2\r\n", true), "|");
  EXPECT_EQ(likely_delimiters("\n\na;b\n\n1;2", true), ";") << "blank lines are none";
  EXPECT_EQ(likely_delimiters("a;b\n1,5;2,5\n", true), ";") << "decimal commas";
}

TEST(CsvDelimiter, IsTheCommaWhereverTheFirstRowHasOne) {
  EXPECT_EQ(likely_delimiters("a,b\n1,2\n", true), ",");
  EXPECT_EQ(likely_delimiters("a;b,c;d\n1;2,3;4\n", true), ",");
}

TEST(CsvDelimiter, OfOneColumnIsTheComma) {
  EXPECT_EQ(likely_delimiters("", true), ",");
  EXPECT_EQ(likely_delimiters("a\nx\ny\n", true), ",");
  EXPECT_EQ(likely_delimiters("a\nx;y\nz;w\n", true), ",") << "the header has none";
  EXPECT_EQ(likely_delimiters("a;b\nx\ny\n", true), ",") << "no other row has one";
  EXPECT_EQ(likely_delimiters("a;b\n", true), ",") << "one row says nothing";
  EXPECT_EQ(likely_delimiters("\"a;b\"\n\"x;y\"\n", true), ",") << "in quotes";
}

TEST(CsvDelimiter, InQuotesDoesNotCount) {
  EXPECT_EQ(likely_delimiters("a;b\n\"x;;\"\"y\n;\";2\n", true), ";");
  EXPECT_EQ(likely_delimiters("\"a,b\";c\n1;2\n", true), ";");
}

TEST(CsvDelimiter, ARowThatIsCutSaysNothing) {
  EXPECT_EQ(likely_delimiters("a;\"b\n1;2\n", false), ",") << "a quote that only the semicolon opens";
  EXPECT_EQ(likely_delimiters("a;b;c\n1;2;3\n4;5", false), ";");
  EXPECT_EQ(likely_delimiters("a;b;c\n1;2;3\n4;5", true), ";,") << "this one is not";
}

TEST(CsvDelimiter, SeveralAreAQuestion) {
  EXPECT_EQ(likely_delimiters("a;b|c\n1;2|3\n", true), ";|");
  EXPECT_EQ(likely_delimiters("a;b\nx\ny;z\n", true), ";,") << "a damaged table, or one column";
  EXPECT_EQ(likely_delimiters("a;b|c\nx|1\ny;z|2\n", true), "|") << "the regular one";
  const ScratchFolder folder;
  write_text(folder / "t.csv", "a;b|c\n1;2|3\n");
  const CsvFormat found{.delimiter = CsvFormat::kFound};
  EXPECT_EQ(input_error([&] { CsvReader(folder / "t.csv", found); }),
            (folder / "t.csv").string() +
                ":1: has no comma and 2 possible delimiters; choose one: delimiter=semicolon or "
                "delimiter=pipe");
  EXPECT_EQ(CsvReader(folder / "t.csv", '|').delimiter(), '|');
}

TEST(CsvDelimiter, IsFoundBehindAByteOrderMark) {
  const ScratchFolder folder;
  write_text(folder / "t.csv", "\xef\xbb\xbf\"a\";b\n1;2\n");
  CsvReader csv(folder / "t.csv", CsvFormat{.delimiter = CsvFormat::kFound});
  EXPECT_EQ(csv.delimiter(), ';');
  ASSERT_TRUE(csv.next());
  EXPECT_EQ(csv.fields(), (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace segre::csv_delimiter_test
