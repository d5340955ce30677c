#include "segre/data/source_name.h"

#include "tests/support/support.h"

namespace segre::source_name_test {
namespace {

using test::input_error;
using Pairs = std::vector<std::pair<int64_t, int64_t>>;

TEST(SourceName, PartsAreKindTargetAndOptions) {
  const auto name = parse_source_name("idx:dir/a.gz?pad=2&classes=3,8&flip=yes&labels=b.gz");
  EXPECT_EQ(name.kind(), "idx");
  EXPECT_EQ(name.target(), "dir/a.gz");
  EXPECT_EQ(name.integer("pad", 0, {0, 9}), 2);
  EXPECT_EQ(name.integers("classes", {0, 9}), (std::vector<int64_t>{3, 8}));
  EXPECT_TRUE(name.flag("flip", false));
  EXPECT_EQ(name.word("labels", ""), "b.gz");
}

TEST(SourceName, AbsentOptionsGiveTheFallback) {
  const auto name = parse_source_name("streets");
  EXPECT_FALSE(name.has_target());
  EXPECT_EQ(name.integer("height", 128, {1, 9}), 128);
  EXPECT_TRUE(name.flag("flip", true));
  EXPECT_EQ(name.choice("split", "train", {"val"}), "train");
  EXPECT_TRUE(name.words("columns").empty());
  EXPECT_TRUE(name.pairs("map", {0, 9}).empty());
  EXPECT_GT(name.limit(), int64_t{1} << 60);
}

TEST(SourceName, OptionsCanBeChangedAndAdded) {
  const auto name = parse_source_name("csv:a?b.csv?limit=2&header=0");
  EXPECT_EQ(name.with("limit", "3").text(), "csv:a?b.csv?limit=3&header=0");
  EXPECT_EQ(name.with("bins", "a:2").text(), "csv:a?b.csv?limit=2&header=0&bins=a:2");
  EXPECT_EQ(name.with("bins", "a:2").words("bins"), (std::vector<std::string>{"a:2"}));
  EXPECT_EQ(parse_source_name("streets").with("height", "64").text(), "streets?height=64");
  EXPECT_EQ(name.text(), "csv:a?b.csv?limit=2&header=0");
}

TEST(SourceName, BuiltInKindsHaveOptionsWithoutATarget) {
  const auto name = parse_source_name("streets?height=64&width=128");
  EXPECT_EQ(name.kind(), "streets");
  EXPECT_FALSE(name.has_target());
  EXPECT_EQ(name.integer("width", 0, {1, 999}), 128);
}

TEST(SourceName, FileNamesMayHaveQuestionMarksColonsAndEquals) {
  EXPECT_EQ(parse_source_name("csv:what?.csv").target(), "what?.csv");
  EXPECT_EQ(parse_source_name("csv:C:/a=b?c.csv").target(), "C:/a=b?c.csv");
  const auto name = parse_source_name("csv:what?.csv?columns=why?,b");
  EXPECT_EQ(name.target(), "what?.csv");
  EXPECT_EQ(name.words("columns"), (std::vector<std::string>{"why?", "b"}));
}

TEST(SourceName, AnyWordCanBeWrittenInAList) {
  for (const std::string word :
       {"weight, kg", "a&b=c", "a|b", "why?x=1", "100%", "%2C", "5%ab", "%", "%-1", "Zürich"}) {
    const auto name = parse_source_name("csv:a.csv?columns=x," + escaped(word) + ",y");
    EXPECT_EQ(name.target(), "a.csv") << word;
    EXPECT_EQ(name.words("columns"), (std::vector<std::string>{"x", word, "y"})) << word;
  }
  EXPECT_EQ(escaped("weight, kg"), "weight%2C kg");
  EXPECT_EQ(escaped("100% Zürich"), "100% Zürich");
  EXPECT_EQ(parse_source_name("csv:a?labels=%7c|%7C|b").words("labels", '|'),
            (std::vector<std::string>{"|", "|", "b"}));
}

TEST(SourceName, PairsMapNumbersToNumbers) {
  EXPECT_EQ(parse_source_name("png:d?map=0:0,1:0,2:1").pairs("map", {0, 9}), (Pairs{{0, 0}, {1, 0}, {2, 1}}));
}

TEST(SourceName, BadValuesAreNamedWithWhatWasExpected) {
  const auto name = parse_source_name("a:b?n=12x&m=99&f=maybe&l=1,,2&w=&p=1:2:3&limit=0");
  const std::string start = "data source " + name.text() + ": option ";
  const auto error = [&](auto&& get) { return input_error([&] { get(); }); };
  EXPECT_EQ(error([&] {
              name.integer("n", 0, {0, 9});
            }),
            start + "n is '12x', a whole number from 0 to 9 was expected");
  EXPECT_EQ(error([&] { name.integer("m", 0, {0, 9}); }), start + "m is '99', a whole number from 0 to 9 was expected");
  EXPECT_EQ(error([&] { name.flag("f", false); }),
            start + "f is 'maybe', one of 1, 0, yes, no, true, false was expected");
  EXPECT_EQ(error([&] { name.integers("l", {0, 9}); }), start + "l is '1,,2', a list a,b,... was expected");
  EXPECT_EQ(error([&] {
              name.integers("m", {0, 9});
            }),
            start + "m is '99', a list of whole numbers from 0 to 9 was expected");
  EXPECT_EQ(error([&] { name.word("w", ""); }), start + "w is '', a value was expected");
  EXPECT_EQ(error([&] {
              name.pairs("p", {0, 9});
            }),
            start + "p is '1:2:3', a list of pairs from:to of whole numbers from 0 to 9 was expected");
  EXPECT_NE(error([&] { name.limit(); }), "");
}

TEST(SourceName, OptionsWithoutValueOrGivenTwiceAreRefused) {
  EXPECT_EQ(input_error([] { parse_source_name("idx:f?pad=1&flip"); }),
            "data source idx:f?pad=1&flip: option 'flip' has no value, key=value was expected");
  EXPECT_EQ(input_error([] { parse_source_name("idx:f?pad=1&pad=2"); }),
            "data source idx:f?pad=1&pad=2: option pad is given twice");
}

TEST(SourceName, AnUnknownOptionNamesTheNearestAndAll) {
  const auto name = parse_source_name("idx:f?treshold=3");
  EXPECT_EQ(input_error([&] {
              name.require_known_options({{"pad", ""}, {"threshold", ""}});
            }),
            "data source idx:f?treshold=3: unknown option treshold; the nearest is threshold, idx has pad, threshold");
  EXPECT_EQ(input_error([&] { name.require_known_options({}); }),
            "data source idx:f?treshold=3: unknown option treshold; idx has no options");
}

}  // namespace
}  // namespace segre::source_name_test
