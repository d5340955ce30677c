#include "segre/config/schema.h"

#include <cmath>

#include "tests/config/bound.h"
#include "tests/support/support.h"

namespace segre::schema_test {
namespace {

using test::Bound;
using test::Colour;
using test::ScratchFolder;
using test::write_text;
using Sizes = std::vector<int64_t>;

const char* const kDefaults = R"(seed = 7

[train]
rate = 0.5
on = false

[data]
name = "x"

[net]
sizes = [1, 2]
colour = "green"
)";

TEST(ConfigSchema, DefaultsAreKeptWhereNothingIsSaid) {
  Bound bound;
  bound.schema.read_text("", "run.toml");
  EXPECT_EQ(bound.schema.to_toml(false), kDefaults);
}

TEST(ConfigSchema, EveryKindOfKeyIsRead) {
  Bound bound;
  bound.schema.read_text(R"(
seed = 100
[train]
rate = 0.25
on = true
[data]
name = "joint:a b.csv"
[net]
sizes = [64, 1, 3]
colour = "blue"
)",
                         "run.toml");
  EXPECT_EQ(bound.seed, 100);
  EXPECT_EQ(bound.rate, 0.25);
  EXPECT_TRUE(bound.on);
  EXPECT_EQ(bound.name, "joint:a b.csv");
  EXPECT_EQ(bound.sizes, (Sizes{64, 1, 3}));
  EXPECT_EQ(bound.colour, Colour::blue);
}

TEST(ConfigSchema, DottedKeysAndInlineTablesAreTheSameAsTables) {
  Bound bound;
  bound.schema.read_text("train.rate = 0.125\nnet = {colour = \"red\", sizes = []}\n", "run.toml");
  EXPECT_EQ(bound.rate, 0.125);
  EXPECT_EQ(bound.colour, Colour::red);
  EXPECT_EQ(bound.sizes, Sizes{});
  EXPECT_EQ(bound.seed, 7);
}

TEST(ConfigSchema, ANumberMayBeWrittenWhole) {
  Bound bound;
  bound.schema.read_text("train.rate = 1", "run.toml");
  EXPECT_EQ(bound.rate, 1.0);
}

TEST(ConfigSchema, BothEndsOfARangeAreAllowed) {
  Bound bound;
  for (const int64_t value : {0, 100}) {
    bound.schema.read_text(concat("seed = ", value), "run.toml");
    EXPECT_EQ(bound.seed, value);
  }
}

TEST(ConfigSchema, AFileIsReadLikeItsText) {
  const ScratchFolder folder;
  write_text(folder / "run.toml", "seed = 3 # a comment\n");
  Bound bound;
  bound.schema.read_file(folder / "run.toml");
  EXPECT_EQ(bound.seed, 3);
}

TEST(ConfigSchema, SetTakesNumbersWordsListsAndQuotes) {
  Bound bound;
  for (const char* assignment : {"seed=9", "train.rate=1e-3", "train.on=true", "net.sizes=[5, 6]", "net.colour=red"})
    bound.schema.set(assignment);
  EXPECT_EQ(bound.seed, 9);
  EXPECT_EQ(bound.rate, 1e-3);
  EXPECT_TRUE(bound.on);
  EXPECT_EQ(bound.sizes, (Sizes{5, 6}));
  EXPECT_EQ(bound.colour, Colour::red);
}

TEST(ConfigSchema, SetTakesAnyTextWithOrWithoutQuotes) {
  Bound bound;
  const std::pair<const char*, const char*> texts[] = {{"data.name=joint:/tmp/a b.csv", "joint:/tmp/a b.csv"},
                                                       {"data.name=\"two words\"", "two words"},
                                                       {"data.name='single'", "single"},
                                                       {"data.name=a=b", "a=b"},
                                                       {"data.name=", ""},
                                                       {"data.name=idx:f?pad=2&x=1", "idx:f?pad=2&x=1"}};
  for (const auto& [assignment, expected] : texts) {
    bound.schema.set(assignment);
    EXPECT_EQ(bound.name, expected);
  }
}

TEST(ConfigSchema, WhatIsPrintedReadsBackAsTheSame) {
  Bound first;
  for (const char* assignment : {"seed=42", "train.rate=0.1", "train.on=true", "net.sizes=[]", "net.colour=blue"})
    first.schema.set(assignment);
  first.name = "a \"quoted\" back\\slash";
  for (const bool with_help : {false, true}) {
    Bound second;
    second.schema.read_text(first.schema.to_toml(with_help), "copy.toml");
    EXPECT_EQ(second.schema.to_toml(false), first.schema.to_toml(false));
    EXPECT_EQ(second.name, first.name);
  }
}

TEST(ConfigSchema, HelpIsACommentWithWhatIsExpected) {
  Bound bound;
  const auto text = bound.schema.to_toml(true);
  EXPECT_NE(text.find("# how fast (a number from 0 to 1)\nrate = 0.5\n"), std::string::npos) << text;
  EXPECT_NE(text.find("(one of \"red\", \"green\", \"blue\")\ncolour = \"green\"\n"), std::string::npos) << text;
}

TEST(ConfigSchema, HelpSaysWhichKeysMayChangeLater) {
  Bound bound;
  const auto text = bound.schema.to_toml(true);
  EXPECT_NE(text.find("# whether at all (true or false; may change on resume)\non = false\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("# which (a text in quotes; may change on resume if the contents are the same)\nname = \"x\"\n"),
            std::string::npos)
      << text;
}

TEST(ConfigSchema, TellsHowTwoConfigsDiffer) {
  Bound first;
  Bound second;
  EXPECT_TRUE(first.schema.differences(second.schema).empty());
  second.schema.read_text("train.on = true\ndata.name = \"y\"\nnet.sizes = [3]\n", "other.toml");
  const auto found = first.schema.differences(second.schema);
  ASSERT_EQ(found.size(), 3U);
  const std::vector<std::vector<std::string>> expected{
      {"train.on", "false", "true"}, {"data.name", "\"x\"", "\"y\""}, {"net.sizes", "[1, 2]", "[3]"}};
  for (size_t k = 0; k < found.size(); ++k)
    EXPECT_EQ((std::vector<std::string>{found[k].key, found[k].value, found[k].other}), expected[k]);
  EXPECT_EQ(found[0].later, Later::free);
  EXPECT_EQ(found[1].later, Later::contents);
  EXPECT_EQ(found[2].later, Later::fixed);
}

std::string printed(double value) {
  ConfigSchema schema;
  schema.number("x", &value, {}, Later::fixed, "");
  const auto line = schema.to_toml(false);
  return line.substr(4, line.size() - 5);  // without "x = " and the newline
}

TEST(ConfigSchema, NumbersArePrintedShortAndAsFloats) {
  EXPECT_EQ(printed(0.0), "0.0");
  EXPECT_EQ(printed(3.0), "3.0");
  EXPECT_EQ(printed(-12.0), "-12.0");
  EXPECT_EQ(printed(0.1), "0.1");
  EXPECT_EQ(printed(0.06), "0.06");
  EXPECT_EQ(printed(1e-8), "1e-08");
  EXPECT_EQ(printed(0.999999), "0.999999");
  EXPECT_EQ(printed(1.0 / 3.0), "0.3333333333333333");
}

void expect_same_bits(double value) {
  double read = 0.0;
  ConfigSchema schema;
  schema.number("x", &read, {}, Later::fixed, "");
  schema.read_text("x = " + printed(value), "t");
  EXPECT_EQ(read, value) << printed(value);
}

TEST(ConfigSchema, EveryNumberReadsBackToTheSameBits) {
  const double values[] = {0.1 + 0.2, 1.0 / 3.0, 2.0 / 3e-300, 123456789.0, 1e300, 4e-307, std::nextafter(1.0, 2.0)};
  for (const double value : values) expect_same_bits(value);
}

TEST(ConfigSchema, TheLargestAndTheSmallestNumbersReadBackToo) {
  using Limits = std::numeric_limits<double>;
  for (const double value : {Limits::max(), Limits::min(), Limits::denorm_min(), Limits::infinity()})
    expect_same_bits(value);
}

}  // namespace
}  // namespace segre::schema_test
