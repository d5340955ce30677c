// Hostile or careless input and tampered run directories: a one-line message, exit code 2.

#include <nlohmann/json.hpp>

#include "segre/io/files.h"
#include "segre/runs/run_directory.h"
#include "tests/support/messages.h"
#include "tests/support/program.h"

namespace segre::hostile_test {
namespace {

namespace fs = std::filesystem;
using test::Arguments;
using test::contains;
using test::run_program;
using test::ScratchFolder;
using test::tiny_training;
using test::write_text;
using test::operator+;

constexpr int kBadInput = 2;

// The message of a bad call, without "segre: " and the newline.
std::string error_of(const Arguments& arguments) {
  const auto result = run_program(arguments);
  EXPECT_EQ(result.exit_code, kBadInput) << result.err;
  EXPECT_EQ(result.out, "");
  std::string message = test::after("segre: ", result.err);
  EXPECT_EQ(message.find('\n'), message.size() - 1) << "one line";
  message.pop_back();
  return message;
}

// The message of a training that is refused before it starts.
std::string train_error(const Arguments& more, const std::string& source = "coupled") {
  const ScratchFolder folder;
  const std::string message = error_of(Arguments{"train", "--data", source, "--out", (folder / "run").string()} + more);
  EXPECT_FALSE(fs::exists(folder / "run"));
  return message;
}

TEST(CliHostile, KeysOfNoUseAreRefused) {
  EXPECT_EQ(train_error({"--set", "train.adam_eps=0"}), "--set: train.adam_eps = 0: expected a number from 1e-20 to 1");
  EXPECT_EQ(train_error({"--set", "path.eps=nan"}), "--set: path.eps = nan: expected a number from 1e-06 to 0.5");
  EXPECT_EQ(train_error({"--set", "train.lr=1e400"}), "--set: train.lr = '1e400': expected a number from 0 to 10");
  EXPECT_EQ(train_error({"--device", "cuda:abc"}), "--device cuda:abc: expected cpu, cuda or cuda:N");
}

TEST(CliHostile, NetworksAndBatchesLargerThanTheMemoryAreRefusedBeforeTheyAreMade) {
  std::string levels = "1";
  for (int k = 1; k < 65; ++k) levels += ",1";
  EXPECT_EQ(train_error({"--set", "net.kind=unet", "--set", "net.channel_mult=[" + levels + "]"}, "glyphs"),
            "net.channel_mult has 65 levels, expected at most 17: each halves the image");
  std::string widths = "65536";
  for (int k = 1; k < 50; ++k) widths += ",65536";
  EXPECT_TRUE(contains(train_error({"--set", "net.kind=mlp", "--set", "net.hidden=[" + widths + "]"}),
                       "a network for the table of 2 variables with 2 labels each needs 3.8 TB, "));
  EXPECT_TRUE(contains(train_error({"--set", "train.batch=1000000000"}, "glyphs"),
                       "a batch of 1000000000 items of the image of 28x28 variables with 2 labels each needs "));
}

// A small run whose files the tests tamper with.
class CliHostileRun : public testing::Test {
 protected:
  void SetUp() override {
    const auto result = run_program(tiny_training("coupled", run(), 1));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    checkpoint_ = *RunDirectory(run()).latest();
  }
  fs::path run() const { return folder_ / "run"; }
  std::string out() const { return (folder_ / "out.csv").string(); }

  std::string sample_error(const Arguments& more = {}) const {
    const std::string message = error_of(Arguments{"sample", run().string(), "--count", "5", "--out", out()} + more);
    EXPECT_FALSE(fs::exists(out()));
    return message;
  }
  void edit_space(const nlohmann::json& space) const {
    auto json = nlohmann::json::parse(read_file(checkpoint_ / "model.json"));
    json["space"] = space;
    write_text(checkpoint_ / "model.json", json.dump());
  }

  ScratchFolder folder_;
  fs::path checkpoint_;
};

TEST_F(CliHostileRun, CountsWithoutMeasureAreRefused) {
  EXPECT_EQ(sample_error({"--steps", "1000000000000"}),
            "--steps: sample.steps = 1000000000000: expected a whole number from 1 to 1e+06");
  EXPECT_EQ(sample_error({"--steps", "1e400"}),
            "--steps: sample.steps = '1e400': expected a whole number from 1 to 1e+06");
  const Arguments likelihood{"likelihood", run().string(), "--data", "coupled", "--out", out()};
  EXPECT_TRUE(contains(error_of(likelihood + Arguments{"--items", "1000000000000"}),
                       "1000000000000 items of 2 variables needs 21.8 TB, "));
  EXPECT_TRUE(contains(error_of(likelihood + Arguments{"--items", "1", "--times", "1000000000000"}),
                       "an item of the table of 2 variables with 2 labels each at 1000000000000 times needs "));
  EXPECT_TRUE(contains(error_of(likelihood + Arguments{"--items", "1", "--bound", "path", "--draws", "1000000000000"}),
                       "1000000000000 draws of each of 1 items needs "));
  EXPECT_EQ(error_of(likelihood + Arguments{"--items", "1", "--t1", "1e400"}),
            "t1 = inf: expected a time between 0 and the path's end, 1");
  EXPECT_TRUE(contains(error_of({"evaluate", run().string(), "--data", "coupled", "--count", "1000000000000", "--out",
                                 (folder_ / "eval").string()}),
                       "1000000000000 samples of the table of 2 variables with 2 labels each needs "));
}

TEST_F(CliHostileRun, ASpaceOfAnotherSizeIsRefused) {
  edit_space({{"layout", "image"}, {"shape", {4294967296, 4294967296}}, {"labels", 2}});
  EXPECT_TRUE(contains(sample_error(), "a space of shape [4294967296, 4294967296] with 2 labels each"));
  edit_space({{"layout", "sequence"}, {"shape", {1e300}}, {"labels", 2}});
  EXPECT_TRUE(contains(sample_error(), "the space's shape is 1e+300, a whole number was expected"));
  edit_space({{"layout", "sequence"}, {"shape", {7}}, {"labels", 3}});
  EXPECT_TRUE(
      contains(sample_error(), "layer0.weight has shape [8, 4], the model that model.json describes has [8, 21]"));
}

TEST_F(CliHostileRun, TensorsOfTheWrongShapeAreRefused) {
  auto state = read_safetensors(checkpoint_ / "model.safetensors");
  state["ema.layer0.weight"] = torch::zeros({3, 3, 3});
  write_safetensors(checkpoint_ / "model.safetensors", state);
  EXPECT_TRUE(contains(sample_error(), "tensor ema.layer0.weight has shape [3, 3, 3], "));
  state = {{"time_law.sum", torch::zeros({0})}, {"time_law.mass", torch::zeros({2})}};
  write_safetensors(checkpoint_ / "model.safetensors", state);
  EXPECT_TRUE(contains(sample_error(), "the checkpoint has no tensor ema."));
}

TEST_F(CliHostileRun, LabelsWithLineEndsMakeNoMessageOfSeveralLines) {
  write_text(folder_ / "items.csv", "y1,y2\n\"0\n1\",0\n");
  EXPECT_TRUE(contains(
      error_of({"likelihood", run().string(), "--data", "csv:" + (folder_ / "items.csv").string(), "--out", out()}),
      "'0\\n1'"));
}

}  // namespace
}  // namespace segre::hostile_test
