#include "segre/config/schema.h"
#include "tests/config/bound.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::schema_errors_test {
namespace {

using test::Bound;
using test::contains;
using test::input_error;

std::string read_error(const std::string& toml) {
  Bound bound;
  return input_error([&] { bound.schema.read_text(toml, "run.toml"); });
}

std::string set_error(const std::string& assignment) {
  Bound bound;
  return input_error([&] { bound.schema.set(assignment); });
}

TEST(ConfigSchemaErrors, AnUnknownKeyIsNamedWithItsPlaceAndTheNearestKey) {
  EXPECT_EQ(read_error("seed = 1\n\n[train]\nrat = 0.5\n"),
            "run.toml:4: unknown key train.rat; the nearest known key is train.rate");
  EXPECT_EQ(read_error("sed = 1"), "run.toml:1: unknown key sed; the nearest known key is seed");
  EXPECT_EQ(read_error("[nett]\ncolour = \"red\""),
            "run.toml:2: unknown key nett.colour; the nearest known key is net.colour");
  EXPECT_EQ(read_error("train.rate.fast = 1"),
            "run.toml:1: unknown key train.rate.fast; the nearest known key is train.rate");
}

TEST(ConfigSchemaErrors, AWrongTypeIsNamedWithTheValueAndWhatWasExpected) {
  const std::pair<const char*, const char*> cases[] = {
      {"seed = 1.0", "seed = 1.0: expected a whole number from 0 to 100"},
      {"seed = true", "seed = true: expected a whole number from 0 to 100"},
      {"seed = [1]", "seed = [ 1 ]: expected a whole number from 0 to 100"},
      {"train.rate = \"fast\"", "train.rate = 'fast': expected a number from 0 to 1"},
      {"train.rate = false", "train.rate = false: expected a number from 0 to 1"},
      {"train.on = 1", "train.on = 1: expected true or false"},
      {"train.on = \"true\"", "train.on = 'true': expected true or false"},
      {"data.name = 5", "data.name = 5: expected a text in quotes"},
      {"net.sizes = 5", "net.sizes = 5: expected a list of whole numbers, each one from 1 to 64"},
      {"net.sizes = [5, 1.5]", "net.sizes = [ 5, 1.5 ]: expected a list of whole numbers, each one from 1 to 64"},
      {"net.colour = 2", "net.colour = 2: expected one of \"red\", \"green\", \"blue\""}};
  for (const auto& [toml, message] : cases) EXPECT_EQ(read_error(toml), concat("run.toml:1: ", message));
}

TEST(ConfigSchemaErrors, AValueOutOfRangeIsRefused) {
  EXPECT_EQ(read_error("\nseed = -1"), "run.toml:2: seed = -1: expected a whole number from 0 to 100");
  EXPECT_EQ(read_error("seed = 101"), "run.toml:1: seed = 101: expected a whole number from 0 to 100");
  EXPECT_TRUE(contains(read_error("train.rate = 1.5"), "train.rate = 1.5: expected a number from 0 to 1"));
  EXPECT_TRUE(contains(read_error("train.rate = nan"), "train.rate = nan: expected a number from 0 to 1"));
  EXPECT_TRUE(contains(read_error("train.rate = inf"), "train.rate = inf: expected a number from 0 to 1"));
  EXPECT_TRUE(contains(read_error("net.sizes = [1, 65]"), "each one from 1 to 64"));
}

TEST(ConfigSchemaErrors, ARangeWithOneEndSaysAtLeast) {
  int64_t value = 0;
  ConfigSchema schema;
  schema.integer("n", &value, {1}, Later::fixed, "");
  EXPECT_EQ(input_error([&] { schema.read_text("n = 0", "f"); }), "f:1: n = 0: expected a whole number, at least 1");
}

TEST(ConfigSchemaErrors, AnUnknownChoiceListsTheChoices) {
  EXPECT_EQ(read_error("[net]\ncolour = \"grey\""),
            "run.toml:2: net.colour = 'grey': expected one of \"red\", \"green\", \"blue\"");
}

TEST(ConfigSchemaErrors, ARefusedValueChangesNothing) {
  Bound bound;
  const auto before = bound.schema.to_toml(false);
  for (const char* toml :
       {"seed = 101", "train.rate = 2", "net.sizes = [3, 0]", "net.colour = \"grey\"", "data.name = 1"})
    EXPECT_NE(input_error([&] { bound.schema.read_text(toml, "f"); }), "") << toml;
  EXPECT_EQ(bound.schema.to_toml(false), before);
}

TEST(ConfigSchemaErrors, InvalidTomlIsNamedWithItsLine) {
  EXPECT_TRUE(contains(read_error("seed = 1\n[train\nrate = 1"), "run.toml:2: not valid TOML: "));
  EXPECT_TRUE(contains(read_error("seed = 1\n\nseed = 2\n"), "run.toml:3: not valid TOML: "));
  EXPECT_TRUE(contains(read_error("seed = fast"), "run.toml:1: not valid TOML: "));
  EXPECT_TRUE(contains(read_error("[train]\nrate = 1\n[train]\non = true"), "run.toml:3: not valid TOML: "));
}

TEST(ConfigSchemaErrors, AMissingFileIsNamed) {
  Bound bound;
  EXPECT_EQ(input_error([&] { bound.schema.read_file("/nowhere/run.toml"); }),
            "/nowhere/run.toml: cannot be opened (No such file or directory)");
}

TEST(ConfigSchemaErrors, SetWantsAKeyAndAValue) {
  EXPECT_EQ(set_error("seed"), "set seed: expected key=value");
  EXPECT_EQ(set_error("=5"), "set =5: expected key=value");
  EXPECT_EQ(set_error(""), "set : expected key=value");
}

TEST(ConfigSchemaErrors, SetChecksLikeAFile) {
  EXPECT_EQ(set_error("seeds=5"), "set: unknown key seeds; the nearest known key is seed");
  EXPECT_EQ(set_error("seed=many"), "set: seed = 'many': expected a whole number from 0 to 100");
  EXPECT_EQ(set_error("seed="), "set: seed = '': expected a whole number from 0 to 100");
  EXPECT_EQ(set_error("net.colour=grey"), "set: net.colour = 'grey': expected one of \"red\", \"green\", \"blue\"");
}

TEST(ConfigSchemaErrors, MessagesAreOneLineWhateverTheValue) {
  std::string list = "1";
  for (int k = 0; k < 100; ++k) list += ", 1000";
  for (const auto& message : {read_error("net.sizes = [" + list + "]"), read_error("seed = \"\"\"two\nlines\"\"\"")}) {
    EXPECT_NE(message, "");
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_TRUE(contains(message, ": expected "));
  }
}

TEST(ConfigSchemaErrors, AKeyOrTableInPlaceOfTheOtherIsRefused) {
  EXPECT_TRUE(contains(read_error("train = 5"), "run.toml:1: unknown key train;"));
  EXPECT_TRUE(contains(read_error("[seed]\nx = 1"), "run.toml:2: unknown key seed.x;"));
}

TEST(ConfigSchemaErrors, AnEmptyTableThatIsNoneOfOursIsRefused) {
  EXPECT_TRUE(contains(read_error("[trian]\n"), "run.toml:1: unknown key trian"));
  EXPECT_TRUE(contains(read_error("seed = {}\n"), "run.toml:1: "));
}

TEST(ConfigSchemaErrors, AnIntegerThatAFloatDoesNotHoldIsNotANumber) {
  EXPECT_EQ(read_error("train.rate = 9007199254740993"),
            "run.toml:1: train.rate = 9007199254740993: expected a number from 0 to 1");
  EXPECT_EQ(read_error("train.rate = -9223372036854775808"),
            "run.toml:1: train.rate = -9223372036854775808: expected a number from 0 to 1");
  EXPECT_EQ(set_error("train.rate=1e400"), "set: train.rate = '1e400': expected a number from 0 to 1");
}

TEST(ConfigSchemaErrors, KeysOfManyPartsAreRefusedBeforeTheyFillTheStack) {
  std::string key = "a";
  for (int k = 0; k < 200'000; ++k) key += ".a";
  const std::string message = "more than 16 dots outside strings; no key has that many parts";
  EXPECT_EQ(read_error("seed = 1\n" + key + " = 1"), "run.toml:2: " + message);
  EXPECT_EQ(read_error("[" + key + "]"), "run.toml:1: " + message);
  EXPECT_EQ(read_error("x = {" + key + " = 1}"), "run.toml:1: " + message);
  EXPECT_TRUE(contains(set_error("seed={" + key + "=1}"), ": expected a whole number from 0 to 100"));
}

TEST(ConfigSchemaErrors, DotsInTextsAndCommentsAreNoKeys) {
  Bound bound;
  const std::string dots(100, '.');
  bound.schema.read_text("data.name = \"a\\\"" + dots + "\"  # " + dots + "'" + dots + "\nseed = 3\n", "f");
  EXPECT_EQ(bound.name, "a\"" + dots);
  bound.schema.set("data.name=" + dots);
  EXPECT_EQ(bound.name, dots);
}

TEST(ConfigSchemaErrors, DeepValuesAreRefused) {
  const std::string message = read_error("seed = " + std::string(100'000, '[') + std::string(100'000, ']'));
  EXPECT_TRUE(contains(message, "run.toml:1: not valid TOML: "));
  std::string deep = "x = 1";
  for (int k = 0; k < 100; ++k) deep = "x = [{a.a.a.a.a.a.a.a." + deep + "}]";
  EXPECT_NE(read_error(deep), "");
}

TEST(ConfigSchemaErrors, ABracketWithoutANameIsRefused) {
  // The parser assumes that a name follows; found by fuzzing.
  for (const char* toml : {"[=", "[\"a\".=1]", "[ #]\n", "[.a]", "[[=]]", "[a.=]"})
    EXPECT_TRUE(contains(read_error(toml), ": not valid TOML: ")) << toml;
  EXPECT_TRUE(contains(read_error(std::string("[\0\0", 3)), ": not valid TOML: "));
  EXPECT_TRUE(contains(set_error("seed=[="), "seed = '[=': expected a whole number"));
}

TEST(ConfigSchemaErrors, LettersBeyondAsciiOutsideOfTextsAreRefused) {
  // The parser cannot handle them safely; found by fuzzing.
  const std::string message = "not valid TOML: non-ASCII characters must be inside quotes";
  EXPECT_EQ(read_error("\nseed = 1ä"), "run.toml:2: " + message);
  EXPECT_EQ(read_error("größe = 1"), "run.toml:1: " + message);
  EXPECT_EQ(read_error("seed = 1\xc2\xa0"), "run.toml:1: " + message);
  EXPECT_EQ(read_error("data.name = \"\"\"x\ny\"\"\"ä"), "run.toml:2: " + message);
  EXPECT_EQ(read_error("seed = 0_0\"'tä"), "run.toml:1: " + message) << "a quotation mark opens no text behind a value";
  EXPECT_EQ(set_error("seed=1ä"), "set: seed = '1ä': expected a whole number from 0 to 100");
}

TEST(ConfigSchemaErrors, LettersBeyondAsciiInTextsAndCommentsAreTaken) {
  Bound bound;
  bound.schema.read_text("\xef\xbb\xbf# ä\ndata.name = '''\nä\"ö''' # 'ß\nseed = 3\n", "f");
  EXPECT_EQ(bound.name, "ä\"ö");
  EXPECT_EQ(bound.seed, 3);
  bound.schema.read_text("data.name = \"\"\"a\\\"\"\" ü\"\"\"\n", "f");
  EXPECT_EQ(bound.name, "a\"\"\" ü");
  bound.schema.read_text("\xef\xbb\xbf\"data\".name = \"é\"", "f");
  EXPECT_EQ(bound.name, "é");
  bound.schema.set("data.name=über");
  EXPECT_EQ(bound.name, "über");
}

TEST(ConfigSchemaErrors, DatesAndListsOfTablesAreNoValuesOfOurs) {
  EXPECT_EQ(read_error("seed = 1979-05-27"), "run.toml:1: seed = 1979-05-27: expected a whole number from 0 to 100");
  EXPECT_TRUE(contains(read_error("[[train]]\nrate = 1"), "run.toml:1: unknown key train;"));
}

TEST(ConfigSchemaErrors, AKeyWithALineEndIsShownOnOneLine) {
  EXPECT_EQ(read_error("\"se\\ned\" = 1"), "run.toml:1: unknown key se\\ned; the nearest known key is seed");
}

TEST(ConfigSchemaErrors, OfSeveralLinesSetTakesAllAsOneText) {
  EXPECT_TRUE(contains(set_error("seed=1\nseed2 = 2"), "1 seed2 = 2"));
}

}  // namespace
}  // namespace segre::schema_errors_test
