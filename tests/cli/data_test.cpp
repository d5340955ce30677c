// segre data inspect and segre data fetch, run as users run them.

#include <nlohmann/json.hpp>

#include "segre/io/files.h"
#include "segre/io/png.h"
#include "segre/recipes/experiment.h"
#include "tests/support/messages.h"
#include "tests/support/program.h"

namespace segre::data_test {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::run_program;
using test::ScratchFolder;

TEST(CliData, InspectSaysWhatASourceIs) {
  const auto result = run_program({"data", "inspect", "streets", "--items", "20"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"image of 64x128 variables with 8 labels each", "endless, generated", "n          8192",
                           "examined   20 items", "vehicle"})
    EXPECT_TRUE(contains(result.out, part));
  EXPECT_TRUE(contains(result.err, "--out DIR"));
}

TEST(CliData, InspectListsTheColumnsOfATable) {
  const auto result = run_program({"data", "inspect", "coupled"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "drawn from a known distribution"));
  EXPECT_TRUE(contains(result.out, "y1"));
  EXPECT_TRUE(contains(result.out, "2 labels, most common"));
}

// All rows of a table in memory are examined, however many there are.
TEST(CliData, InspectFindsWhatIsMissingInTheLastRows) {
  const ScratchFolder folder;
  std::string text = "a,b\n";
  for (int row = 0; row < 100'000; ++row) text += row % 2 == 0 ? "x,u\n" : "y,v\n";
  test::write_text(folder / "t.csv", text + "x,\n");
  const std::string source = "csv:" + (folder / "t.csv").string();
  const auto whole = run_program({"data", "inspect", source});
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_TRUE(contains(whole.out, "\nmissing    <0.01%\nexamined   100001 items\n"));
  EXPECT_TRUE(contains(whole.out, ", missing <0.01%\n"));
  const auto part = run_program({"data", "inspect", source, "--items", "1000"});
  EXPECT_TRUE(contains(part.out, "\nmissing    none in these\nexamined   the first 1000 items\n"));
  EXPECT_EQ(run_program({"data", "inspect", source, "--items", "0"}).out, whole.out) << "0 is all";
  EXPECT_EQ(run_program({"data", "inspect", "coupled", "--items", "0"}).err,
            "segre: coupled: is endless; give the number of items\n");
}

// A messy table: all kinds of columns, and what is left out.
std::string messy() {
  std::string text = "id,note,empty,price,when,colour,same,age\n";
  for (int k = 0; k < 120; ++k)
    text += concat(k + 1, ",text number ", k, ",,", 0.5 * (k % 60), ",", 10 + k % 20, ".0", 1 + k % 9, ".2024,",
                   k % 3 == 0 ? "red" : "blue", ",x,", k % 10 == 0 ? "?" : std::to_string(20 + k % 40), "\n");
  return text;
}

TEST(CliData, InspectSaysWhatTrainingMakesOfEachColumn) {
  const ScratchFolder folder;
  test::write_text(folder / "t.csv", messy());
  const auto result = run_program({"data", "inspect", "csv:" + (folder / "t.csv").string()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* line :
       {"  id      left out  120 different values in 120 rows, such as 1\n",
        "  note    left out  120 different values in 120 rows, such as text number 0\n",
        "  empty   left out  only missing values\n",
        "  price   levels    numbers from 0 to 29.5, 60 different, such as 0\n",
        "  colour  labels    2 labels, most common blue (66.7%)\n", "  same    labels    1 label, x (100.0%)\n",
        "  age     levels    numbers from 21 to 59, 36 different, missing 10.0% (?), such as 21\n"})
    EXPECT_TRUE(contains(result.out, line)) << line << result.out;
  EXPECT_TRUE(contains(result.out, "  when    levels    dates from 10.01.2024 to 28.09.2024, 120 different"))
      << result.out;
}

TEST(CliData, InspectDescribesColumnsAsJson) {
  const ScratchFolder folder;
  test::write_text(folder / "t.csv", messy());
  const auto result = run_program({"data", "inspect", "csv:" + (folder / "t.csv").string(), "--json"});
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json.at("items"), 120);
  ASSERT_EQ(json.at("columns").size(), 8U);
  EXPECT_EQ(json["columns"][0]["use"], "left out");
  EXPECT_EQ(json["columns"][2]["why"], "only missing values");
  EXPECT_EQ(json["columns"][3]["use"], "levels");
  EXPECT_EQ(json["columns"][3]["values"], "numbers");
  EXPECT_EQ(json["columns"][3]["most"], "29.5");
  EXPECT_EQ(json["columns"][5]["common"], "blue");
  EXPECT_EQ(json["columns"][7]["missing_text"], "?");
  EXPECT_EQ(json["columns"][7]["missing_share"], 0.1);
}

TEST(CliData, InspectSaysWhyNothingIsLeft) {
  const ScratchFolder folder;
  std::string text = "id,none\n";
  for (int k = 0; k < 60; ++k) text += concat("k", k, ",\n");
  test::write_text(folder / "t.csv", text);
  const auto source = "csv:" + (folder / "t.csv").string();
  const auto result = run_program({"data", "inspect", source});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "  id    left out  60 different values in 60 rows, such as k0\n")) << result.out;
  EXPECT_TRUE(contains(result.err,
                       ": no column is left to learn: column id has 60 different values in 60 rows, column "
                       "none has only missing values; keep all"))
      << result.err;
  const auto json = nlohmann::json::parse(run_program({"data", "inspect", source, "--json"}).out);
  EXPECT_EQ(json.at("items"), 60);
  EXPECT_TRUE(contains(json.at("nothing").get<std::string>(), "no column is left to learn"));
  EXPECT_EQ(run_program({"data", "inspect", source + "?nonsense=1"}).exit_code, 2);
}

TEST(CliData, InspectWritesAPictureAndAConfigThatIsRead) {
  const ScratchFolder folder;
  const auto result = run_program({"data", "inspect", "glyphs?pad=2", "--items", "20", "--out", folder / "look"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const PngImage preview = read_png(folder / "look" / "preview.png");
  EXPECT_EQ(preview.kind, PngImage::Kind::colour);
  EXPECT_GT(preview.width, 8 * 32);
  Experiment experiment;
  schema_of(experiment).read_file(folder / "look" / "config.toml");
  EXPECT_EQ(experiment.data, "glyphs?pad=2");
  EXPECT_EQ(experiment.net.kind, "unet");
}

TEST(CliData, InspectGivesJsonToMachines) {
  const auto result = run_program({"data", "inspect", "glyphs", "--items", "50", "--json"});
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json.at("variables"), 28 * 28);
  EXPECT_EQ(json.at("items_seen"), 50);
  EXPECT_NEAR(json.at("label_shares")[1].get<double>(), 0.12, 0.04);
}

TEST(CliData, APictureOfATableIsRefused) {
  const ScratchFolder folder;
  const auto result = run_program({"data", "inspect", "coupled", "--preview", folder / "p.png"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.err, "pictures need image data"));
  EXPECT_EQ(result.out, "");
}

TEST(CliData, AnUnknownSourceIsRefused) {
  const auto result = run_program({"data", "inspect", "nothing:x"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.err, "nothing"));
}

TEST(CliData, FetchNamesTheDataSetsThereAre) {
  const auto result = run_program({"data", "fetch", "cifar"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.err, "data set 'cifar' is not one of mnist, omniglot"));
}

TEST(CliData, FetchFromAMirrorThatIsNotThereFailsAndLeavesNothing) {
  const ScratchFolder folder;
  const auto result =
      run_program({"data", "fetch", "mnist", "--to", folder / "mnist", "--mirror", "http://127.0.0.1:1/"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.err, "train-images-idx3-ubyte.gz"));
  EXPECT_FALSE(fs::exists(folder / "mnist" / "train-images-idx3-ubyte.gz"));
}

}  // namespace
}  // namespace segre::data_test
