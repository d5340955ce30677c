#include "segre/io/csv.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "segre/io/csv_reader.h"
#include "tests/support/archives.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::csv_test {
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

// The message without the leading file name, which is checked here.
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
  EXPECT_EQ(error_of("a,b\n1,2\n3,\"4\n5,6\n"), ":3: a quote is never closed");
}

TEST(Csv, ARowWithAnotherNumberOfFieldsIsNamedWithItsLine) {
  EXPECT_EQ(error_of("a,b\n1,2\n\n1,2,3\n"), ":4: 3 fields, but the header has 2");
  EXPECT_EQ(error_of("a,b\n\"x\ny\",2\n1\n"), ":4: 1 fields, but the header has 2");
  EXPECT_EQ(error_of("a,b\n1,2,"), ":2: 3 fields, but the header has 2");
}

TEST(Csv, BytesThatAreNotUtf8AreNamedWithLineColumnAndByte) {
  EXPECT_EQ(error_of("a,b\n1,caf\xe9\n"),
            ":2: column b is not UTF-8: \\xe9 at byte 4 of 'caf\\xe9'; if the file is Latin-1, read it with "
            "encoding=latin1");
  EXPECT_TRUE(test::contains(error_of("a,\xe9\n1,2\n"), ":1: the name of column 2 is not UTF-8: \\xe9 at byte 1"));
  EXPECT_TRUE(test::contains(error_of("a,b\n\"x\ny\nz\xff\",2\n"), ":4: column a is not UTF-8: \\xff at byte 6"))
      << "the line within a row of several";
  EXPECT_TRUE(test::contains(error_of("a,b\n\xc3,\xa9\n"), ":2: column a is not UTF-8: \\xc3 at byte 1"))
      << "two fields do not make one character";
}

TEST(Csv, NulsAndUtf16AreRefused) {
  EXPECT_EQ(error_of(std::string("a,b\n1,x\0y\n", 10)),
            ":2: column b has a NUL at byte 2 ('x\\x00y'), text was expected; is the file UTF-16? Save it as UTF-8");
  const std::string utf16 =
      ":1: starts with the byte order mark of UTF-16, text in UTF-8 was expected; save it as UTF-8";
  EXPECT_EQ(error_of(std::string("\xff\xfe"
                                 "a\0",
                                 4)),
            utf16);
  EXPECT_EQ(error_of(std::string("\xfe\xff\0a", 4)), utf16);
}

TEST(Csv, ACarriageReturnThatEndsNoLineIsRefusedUnlessQuoted) {
  EXPECT_EQ(error_of("a,b\r1,2\r"), ":1: a carriage return without a line feed; lines must end in LF or CRLF");
  EXPECT_EQ(error_of("a,b\n1,2\n3\r,4\n"), ":3: a carriage return without a line feed; lines must end in LF or CRLF");
  EXPECT_EQ(parse("a\n\"x\ry\"\r\n")[1].fields[0], "x\ry");
}

// A compressed file that repeats one character for 70 MiB.
std::string endless(std::string text, char c) {
  text.append(size_t{70} << 20, c);
  return test::gzip_bytes(text);
}

TEST(Csv, ARowWithoutEndIsRefusedBeforeItFillsTheMemory) {
  const std::string expected = "a row of more than 64 MiB, a line of a table was expected; is a quote never closed?";
  EXPECT_EQ(error_of(endless("a\n1\n\"", 'x')), ":3: " + expected);
  EXPECT_EQ(error_of(endless("a\n", ',')), ":2: " + expected);
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

TEST(CsvReader, Latin1BecomesUtf8) {
  const ScratchFolder folder;
  write_text(folder / "t.csv", "t\xe9te,b\n\xff,\"\xe9,\n\"\n");
  CsvReader csv(folder / "t.csv", CsvFormat{.encoding = TextEncoding::latin1});
  ASSERT_TRUE(csv.next());
  EXPECT_EQ(csv.column_name(0), "t\xc3\xa9te");
  ASSERT_TRUE(csv.next());
  EXPECT_EQ(csv.field(0), "\xc3\xbf");
  EXPECT_EQ(csv.field(1), "\xc3\xa9,\n");
  EXPECT_EQ(csv.column_name(1), "b");
  write_text(folder / "t.csv",
             "\xef\xbb\xbf"
             "a\n1\n");
  EXPECT_EQ(test::after((folder / "t.csv").string(),
                        input_error([&] { CsvReader(folder / "t.csv", {.encoding = TextEncoding::latin1}); })),
            ":1: starts with the byte order mark of UTF-8, but encoding=latin1 was given; leave that out");
}

TEST(CsvReader, ColumnsWithoutAHeaderAreNamedByPosition) {
  const ScratchFolder folder;
  write_text(folder / "t.csv", "a,b\n1,\xe9\n");
  CsvReader csv(folder / "t.csv", CsvFormat{.has_header = false});
  ASSERT_TRUE(csv.next());
  EXPECT_EQ(csv.column_name(0), "x1");
  EXPECT_TRUE(test::contains(input_error([&] { csv.next(); }), ":2: column x2 is not UTF-8"));
}

TEST(CsvReader, RowsThatCrossItsBufferAreWhole) {
  const std::string field(700'000, 'x');  // the buffer is a megabyte
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

TEST(LabelsCsv, BinsBecomeValuesThatDoNotDependOnTheBatch) {
  const Bins ages{Bins::Unit::number, {20, 35, 80}, 0};
  const Space space = Space::table({{"age", 3, {"[20, 35)", "[35, 80]", "(missing)"}, ages}, {"sex", 2, {"f", "m"}}});
  const auto labels = torch::tensor({{0, 1}, {1, 0}, {2, 0}, {0, 0}}, torch::kInt64);
  std::ostringstream names;
  write_labels_csv(names, space, labels, /*with_header=*/true);
  EXPECT_EQ(names.str(), "age,sex\n\"[20, 35)\",m\n\"[35, 80]\",f\n(missing),f\n\"[20, 35)\",f\n");
  const RandomStream random(7, Purpose::bin_values);
  std::ostringstream together;
  write_labels_csv(together, space, labels, /*with_header=*/false, BinValues{random, 5});
  std::ostringstream apart;
  for (int64_t k = 0; k < 4; ++k)
    write_labels_csv(apart, space, labels.slice(0, k, k + 1), /*with_header=*/false,
                     BinValues{random, 5 + static_cast<uint64_t>(k)});
  EXPECT_EQ(apart.str(), together.str());
  // Number (item * n + variable) of the stream, with n = 2 variables.
  EXPECT_EQ(together.str(),
            concat(ages.draw(0, uniform_double(random, 10)), ",m\n", ages.draw(1, uniform_double(random, 12)),
                   ",f\n(missing),f\n", ages.draw(0, uniform_double(random, 16)), ",f\n"));
}

TEST(LabelsCsv, MissingValuesAreWrittenAsInTheData) {
  const auto labels = torch::tensor({{0, 1}, {2, 0}}, torch::kInt64);
  const auto written = [&](const std::optional<std::string>& age, const std::optional<std::string>& sex) {
    const Space space =
        Space::table({{"age", 3, {"young", "old", "(missing)"}, {}, age}, {"sex", 2, {"f", "(missing)"}, {}, sex}});
    std::ostringstream out;
    write_labels_csv(out, Space::from_json(space.to_json()), labels, /*with_header=*/false);
    return out.str();
  };
  EXPECT_EQ(written("?", ""), "young,\n?,f\n");
  EXPECT_EQ(written("NA", {}), "young,(missing)\nNA,f\n") << "runs of before do not know how";
  const Space one = Space::table({{"age", 2, {"old", "(missing)"}, {}, ""}});
  std::ostringstream out;
  write_labels_csv(out, one, torch::tensor({{1}, {0}}, torch::kInt64), /*with_header=*/false);
  EXPECT_EQ(out.str(), "\"\"\nold\n") << "a blank line would be no row";
  EXPECT_EQ(one.label_name(0, 1), "(missing)") << "the label keeps its name";
}

TEST(LabelsCsv, RefusesLabelsThatHaveNoName) {
  std::ostringstream out;
  EXPECT_EQ(test::input_error([&] {
              write_labels_csv(out, test::binary_space(2), torch::tensor({{0, 1}, {2, 0}}, torch::kInt64), true);
            }),
            "item 1, variable x1: label 2 where 0 to 1 was expected");
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace segre::csv_test
