// segre ood, run as users run it.

#include <fstream>

#include "segre/io/csv.h"
#include "segre/io/files.h"
#include "segre/io/npy.h"
#include "tests/support/messages.h"
#include "tests/support/program.h"

namespace segre::ood_test {
namespace {

namespace fs = std::filesystem;
using test::Arguments;
using test::contains;
using test::run_program;
using test::ScratchFolder;
using test::tiny_training;
using test::operator+;

constexpr int kBadInput = 2;

// A barely trained model of striped 4x4 images, and noise images.
class CliOod : public testing::Test {
 protected:
  void SetUp() override {
    const auto column = torch::arange(4).unsqueeze(0) + torch::arange(40).unsqueeze(1) % 4;  // [40, 4]
    write_images("stripes.npy", (column.div(2, "floor") % 2).unsqueeze(1).expand({40, 4, 4}).reshape({40, 16}));
    write_images("noise.npy", (test::noise({30, 16}) > 0.0).to(torch::kInt64));
    const auto result = run_program(tiny_training(source("stripes.npy"), run(), 20));
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }

  fs::path run() const { return folder_ / "run"; }
  fs::path out() const { return folder_ / "out"; }
  fs::path file(const std::string& name) const { return folder_ / name; }
  std::string source(const std::string& name) const { return "npy:" + file(name).string() + "?labels=2"; }

  void write_images(const std::string& name, const torch::Tensor& labels) const {
    const Space space = Space::image(4, 4, 2);
    std::ofstream file_out(file(name), std::ios::binary);
    write_npy_header(file_out, space, labels.size(0));
    write_npy_labels(file_out, space, labels);
  }

  test::ProgramResult ood(const std::string& inside, const std::string& outside, const Arguments& more = {}) const {
    return run_program(
        Arguments{"ood", run().string(), "--inside", inside, "--outside", outside, "--out", out().string()} + more);
  }
  std::string ood_error(const std::string& inside, const std::string& outside, const Arguments& more = {}) const {
    const auto result = ood(inside, outside, more);
    EXPECT_EQ(result.exit_code, kBadInput);
    EXPECT_EQ(result.out, "");
    EXPECT_FALSE(fs::exists(out())) << "nothing is left behind";
    return test::after("segre: ", result.err);
  }

 private:
  ScratchFolder folder_;
};

TEST_F(CliOod, WritesTablesPageAndPictureAndPrintsTheTable) {
  const auto result = ood(source("stripes.npy"), source("noise.npy"), {"--items", "25"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("score ")) << result.out;
  EXPECT_TRUE(contains(result.out, "nats beyond the item's complexity"));
  EXPECT_TRUE(contains(result.err, "On 40 training items, log nats = "));
  const auto scores = read_csv(out() / "scores.csv");
  ASSERT_EQ(scores.size(), 51U);
  EXPECT_EQ(scores[25].fields[1], "38") << "of 40 items 25 are spread evenly: the last is 24 * 40 / 25";
  EXPECT_EQ(read_csv(out() / "auroc.csv").size(), 16U);
  EXPECT_TRUE(contains(read_file(out() / "report.html"), "25 items of npy:"));
  EXPECT_TRUE(fs::exists(out() / "items.png"));
}

TEST(CliOodOfTables, RowsAreThoseOfTheFileWhereSomeAreLeftOut) {
  const ScratchFolder folder;
  const auto source = [&](const std::string& name, const std::string& text) {
    test::write_text(folder / name, text);
    return "csv:" + (folder / name).string();
  };
  std::string text = "sky,ground\n";
  for (int k = 0; k < 60; ++k) text += k % 2 == 0 ? "sun,dry\n" : "rain,wet\n";
  ASSERT_EQ(run_program(tiny_training(source("t.csv", text), folder / "run", 2)).exit_code, 0);
  std::string inside = "sky,ground\n";  // every other row is left out
  for (int k = 0; k < 16; ++k) inside += k % 2 == 0 ? "hail,dry\n" : "sun,dry\n";
  const auto result =
      run_program({"ood", (folder / "run").string(), "--inside", source("in.csv", inside) + "?unseen=skip", "--outside",
                   source("out.csv", "sky,ground\nsun,wet\nfog,wet\nsun,wet\nrain,dry\nsun,dry\n") + "?unseen=skip",
                   "--items", "4", "--out", (folder / "out").string()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::vector<std::string> rows;
  for (const CsvRow& row : read_csv(folder / "out" / "scores.csv")) rows.push_back(row.fields[0] + " " + row.fields[1]);
  EXPECT_EQ(rows, (std::vector<std::string>{"set item", "inside 1", "inside 5", "inside 9", "inside 13", "outside 0",
                                            "outside 2", "outside 3", "outside 4"}));
  const std::string page = read_file(folder / "out" / "report.html");
  EXPECT_TRUE(contains(page, "inside 13") && contains(page, "outside 4")) << "the rows with the oddest cells";
  EXPECT_FALSE(contains(page, "outside 1<")) << "row 1 was left out";
}

TEST_F(CliOod, ZeroItemsAreAllAndScoresAreTheSameAgain) {
  ASSERT_EQ(ood(source("stripes.npy"), source("noise.npy"), {"--items", "0"}).exit_code, 0);
  const std::string scores = read_file(out() / "scores.csv");
  EXPECT_EQ(read_csv(out() / "scores.csv").size(), 71U);
  fs::remove_all(out());
  ASSERT_EQ(ood(source("stripes.npy"), source("noise.npy"), {"--items", "0"}).exit_code, 0);
  EXPECT_EQ(read_file(out() / "scores.csv"), scores);
}

TEST_F(CliOod, AnotherSpaceIsNamedBesideTheModels) {
  EXPECT_EQ(ood_error(source("stripes.npy"), "coupled"),
            "--outside coupled: table of 2 variables with 2 labels each, expected image of 4x4 variables with 2 "
            "labels each\n");
  EXPECT_TRUE(ood_error("glyphs", source("noise.npy")).starts_with("--inside glyphs: image of 28x28"));
}

TEST_F(CliOod, TrainingDataThatAreGoneAreAskedFor) {
  fs::rename(file("stripes.npy"), file("moved.npy"));
  const std::string message = ood_error(source("moved.npy"), source("noise.npy"));
  EXPECT_TRUE(message.starts_with("the run's training data cannot be opened (")) << message;
  EXPECT_TRUE(contains(message, "stripes.npy"));
  EXPECT_TRUE(contains(message, "); give them with --train SOURCE"));
  const auto result = ood(source("moved.npy"), source("noise.npy"), {"--train", source("moved.npy")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

// As many images as before, but others.
TEST_F(CliOod, TrainingDataThatWereOverwrittenAreRefused) {
  fs::rename(file("stripes.npy"), file("moved.npy"));
  write_images("stripes.npy", (test::noise({40, 16}, 2) > 0.0).to(torch::kInt64));
  test::expect_overwritten(ood(source("moved.npy"), source("noise.npy")), file("stripes.npy"));
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(CliOod, ItemsHeldOutAreNoTrainingItems) {
  const auto column = torch::arange(4).unsqueeze(0) + torch::arange(200).unsqueeze(1) % 4;
  write_images("many.npy", (column.div(2, "floor") % 2).unsqueeze(1).expand({200, 4, 4}).reshape({200, 16}));
  const auto other = file("other");
  ASSERT_EQ(run_program(tiny_training(source("many.npy"), other, 2)).exit_code, 0);
  const auto result = run_program({"ood", other.string(), "--inside", source("stripes.npy"), "--outside",
                                   source("noise.npy"), "--out", out().string()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.err, "On 190 training items, log nats = ")) << "a twentieth of 200 validated it";
}

TEST_F(CliOod, AFolderInUseIsRefusedBeforeAnyWork) {
  fs::create_directories(out());
  test::write_text(out() / "mine.txt", "keep");
  const auto result = ood(source("stripes.npy"), source("noise.npy"));
  EXPECT_EQ(result.exit_code, kBadInput);
  EXPECT_EQ(result.err,
            concat("segre: --out ", out().string(), ": already exists and is not empty, a new folder was expected\n"));
  EXPECT_EQ(read_file(out() / "mine.txt"), "keep");
}

TEST_F(CliOod, TimesThatAreNoMultipleOfFourAreRefused) {
  EXPECT_TRUE(contains(ood_error(source("stripes.npy"), source("noise.npy"), {"--times", "6"}), "multiple of 4"));
}

TEST_F(CliOod, TheNatsAreThoseOfTheBoundAskedFor) {
  for (const Arguments& bound :
       {Arguments{"--bound", "order", "--times", "8"},
        Arguments{"--bound", "ball", "--mass", "0.8:each", "--trace", "exact", "--draws", "3"}}) {
    const auto result = ood(source("stripes.npy"), source("noise.npy"), Arguments{"--items", "2"} + bound);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto rows = read_csv(out() / "scores.csv");
    const auto& header = rows.at(0).fields;
    const auto column = std::find(header.begin(), header.end(), "nats") - header.begin();
    const auto nats = rows.at(1).fields.at(static_cast<size_t>(column));
    fs::remove_all(out());
    Arguments alone{"likelihood", run().string(), "--data", source("stripes.npy"), "--items", "1", "--out"};
    alone = alone + Arguments{file("log_p.csv").string()} + bound;
    if (bound[1] == "ball") alone = alone + Arguments{"--panels", "1"};
    ASSERT_EQ(run_program(alone).exit_code, 0);
    EXPECT_NEAR(std::stod(nats), -std::stod(read_csv(file("log_p.csv")).at(1).fields.at(1)), 1e-6) << bound[1];
  }
  EXPECT_TRUE(contains(ood_error(source("stripes.npy"), source("noise.npy"), {"--bound", "ball", "--times", "8"}),
                       "--times is not used with --bound ball"));
  EXPECT_TRUE(contains(ood_error(source("stripes.npy"), source("noise.npy"), {"--bound", "direct"}), "is not a bound"));
}

TEST(CliOodUsage, TheHelpSaysWhyRawLikelihoodMisleads) {
  const auto result = run_program({"ood", "--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.out, "Raw likelihood misleads"));
  EXPECT_TRUE(contains(result.out, "chosen without looking at the outside data"));
}

}  // namespace
}  // namespace segre::ood_test
