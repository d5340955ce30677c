// segre train, driven as users drive it.

#include <csignal>
#include <thread>

#include "segre/experiment/run.h"
#include "segre/io/files.h"
#include "tests/support/messages.h"
#include "tests/support/program.h"

namespace segre {
namespace {

namespace fs = std::filesystem;
using test::Arguments;
using test::contains;
using test::Program;
using test::run_program;
using test::ScratchFolder;
using test::tiny_training;
using test::write_text;
using test::operator+;

constexpr int kBadInput = 2;

// Trains the coupled pair with these arguments added, which are wrong: the message, without "segre: " and line end.
std::string train_error(const Arguments& more, const std::string& source = "coupled") {
  const ScratchFolder folder;
  const auto result = run_program(tiny_training(source, folder / "run", 1) + more);
  EXPECT_EQ(result.exit_code, kBadInput);
  EXPECT_EQ(result.out, "");
  EXPECT_FALSE(fs::exists(folder / "run")) << "bad input leaves nothing behind";
  std::string message = test::after("segre: ", result.err);
  EXPECT_EQ(message.find('\n'), message.size() - 1) << "one line";
  message.pop_back();
  return message;
}

std::string final_state(const fs::path& run) { return read_file(*RunDirectory(run).latest() / "model.safetensors"); }

TEST(CliTrain, AnUnknownConfigKeyIsNamedWithItsPlaceAndTheNearestKey) {
  const ScratchFolder folder;
  const auto config = (folder / "my.toml").string();
  write_text(config, "seed = 1\n\n[train]\nlearning = 0.1\nlrr = 0.1\n");
  EXPECT_TRUE(contains(train_error({config}), config + ":4: unknown key train.learning; the nearest known key is "));
  write_text(config, "[train]\nlrr = 0.1\n");
  EXPECT_EQ(train_error({config}), config + ":2: unknown key train.lrr; the nearest known key is train.lr");
}

TEST(CliTrain, AConfigThatIsWrongOrMissingIsNamed) {
  const ScratchFolder folder;
  const auto config = (folder / "my.toml").string();
  EXPECT_EQ(train_error({config}), config + ": cannot be opened (No such file or directory)");
  EXPECT_EQ(train_error({folder.path().string()}), folder.path().string() + ": is a directory, a file was expected");
  write_text(config, "[path]\nkind = \"straight\"\n");
  EXPECT_EQ(train_error({config}), config + ":2: path.kind = 'straight': expected one of \"e-geodesic\", \"ray\"");
}

TEST(CliTrain, ABadSetIsNamed) {
  EXPECT_EQ(train_error({"--set", "train.lr"}), "--set train.lr: expected key=value");
  EXPECT_EQ(train_error({"--set", "train.lr=fast"}), "--set: train.lr = 'fast': expected a number from 0 to 10");
  EXPECT_EQ(train_error({"--set", "train.lrr=1"}), "--set: unknown key train.lrr; the nearest known key is train.lr");
}

TEST(CliTrain, ABadSourceIsNamed) {
  EXPECT_EQ(train_error({}, "cupled"),
            "data source 'cupled' is not one of coupled, mixture, pinwheel, glyphs, streets, joint:FILE.csv, csv:FILE, "
            "idx:FILE, png:DIR, npy:FILE, omniglot:ZIP, cityscapes:DIR");
  const ScratchFolder folder;
  const auto file = (folder / "j.csv").string();
  write_text(file, "a,b,p\n0,0,0.5\n1,1,half\n");
  EXPECT_EQ(train_error({}, "joint:" + file), file + ":3: column p holds 'half', a number from 0 to 1 was expected");
}

TEST(CliTrain, NothingToLearnIsSaidSo) {
  const ScratchFolder folder;
  const auto result = run_program({"train", "--out", (folder / "run").string()});
  EXPECT_EQ(result.exit_code, kBadInput);
  EXPECT_TRUE(contains(result.err, "segre: nothing to learn: give --data SOURCE"));
}

TEST(CliTrain, ABadMaxTimeIsNamed) {
  for (const char* text : {"soon", "60 s", "5d", "-1s", "0s", "s", "nan"})
    EXPECT_EQ(train_error({concat("--max-time=", text)}),
              concat("--max-time ", text, ": expected a time such as 60s, 5m or 1h"));
}

TEST(CliTrain, UnknownDevicesAreRefused) {
  EXPECT_EQ(train_error({"--device", "tpu"}), "--device tpu: expected cpu, cuda or cuda:N");
#ifndef SEGRE_CUDA
  EXPECT_EQ(train_error({"--device", "cuda"}),
            "--device cuda: this build has no CUDA; 'make build CUDA=1' makes one that has");
#endif
}

TEST(CliTrain, ASeedOutsideTheConfigsRangeIsRefusedBeforeTraining) {
  EXPECT_TRUE(contains(train_error({"--seed", "10000000000000000"}), "seed = 10000000000000000: expected"));
}

TEST(CliTrain, OptionsBeatTheConfigAndTheResultIsKept) {
  const ScratchFolder folder;
  const auto run = folder / "run";
  write_text(folder / "my.toml", "seed = 3\ndata.source = \"mixture\"\ntrain.lr = 0.5\ntrain.ema = 0.5\n");
  const auto result = run_program(tiny_training("coupled", run, 2) +
                                  Arguments{(folder / "my.toml").string(), "--seed", "4", "--set", "train.lr=0.25"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "") << "training has no data to print";
  EXPECT_TRUE(contains(result.err, "trained 2 steps in "));
  Experiment kept;
  schema_of(kept).read_file(run / "config.toml");
  EXPECT_EQ(kept.seed, 4);
  EXPECT_EQ(kept.data, "coupled");
  EXPECT_EQ(kept.train.schedule.lr, 0.25);
  EXPECT_EQ(kept.train.adam.ema, 0.5);
}

TEST(CliTrain, AnExistingRunIsRefusedAndKept) {
  const ScratchFolder folder;
  const auto run = folder / "run";
  ASSERT_EQ(run_program(tiny_training("coupled", run, 2)).exit_code, 0);
  const auto before = final_state(run);
  const auto result = run_program(tiny_training("coupled", run, 4));
  EXPECT_EQ(result.exit_code, kBadInput);
  EXPECT_EQ(result.err, concat("segre: ", run.string(),
                               ": holds a run already; --resume continues it, another --out starts a new one\n"));
  EXPECT_EQ(final_state(run), before);
}

TEST(CliTrain, ResumeGoesOnWithMoreSteps) {
  const ScratchFolder folder;
  const Arguments constant{"--set", "train.schedule=constant"};  // else the schedule depends on the number of steps
  ASSERT_EQ(run_program(tiny_training("coupled", folder / "whole", 6) + constant).exit_code, 0);
  ASSERT_EQ(run_program(tiny_training("coupled", folder / "run", 3) + constant).exit_code, 0);
  const auto result = run_program({"train", "--out", (folder / "run").string(), "--resume", "--set", "train.steps=6"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.err, "trained 6 steps in "));
  EXPECT_EQ(final_state(folder / "run"), final_state(folder / "whole"));
}

TEST(CliTrain, ResumeWithoutARunIsRefused) {
  const ScratchFolder folder;
  const auto result = run_program({"train", "--out", (folder / "none").string(), "--resume"});
  EXPECT_EQ(result.exit_code, kBadInput);
  EXPECT_TRUE(contains(result.err, (folder / "none").string()));
}

TEST(CliTrain, MaxTimeEndsInTime) {
  const ScratchFolder folder;
  const auto result =
      run_program(tiny_training("coupled", folder / "run", 1'000'000'000) + Arguments{"--max-time", "1.5s"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err.find("stopped by a signal"), std::string::npos) << "it came to its end";
}

// Waits until training has logged its first steps.
void wait_for_metrics(const fs::path& run) {
  constexpr int kTries = 600;  // a minute
  for (int k = 0; k < kTries; ++k) {
    if (fs::exists(run / "metrics.jsonl") && fs::file_size(run / "metrics.jsonl") > 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  FAIL() << "training did not start";
}

TEST(CliTrain, ASignalSavesAndResumeFinishesToTheSameBytes) {
  constexpr int kSteps = 4000;  // a second or two: long enough to be caught on the way
  const ScratchFolder folder;
  ASSERT_EQ(run_program(tiny_training("coupled", folder / "whole", kSteps)).exit_code, 0);
  for (const int signal : {SIGINT, SIGTERM}) {
    const auto run = folder / concat("stopped-", signal);
    Program program(tiny_training("coupled", run, kSteps));
    wait_for_metrics(run);
    program.signal(signal);
    const auto stopped = program.wait();
    EXPECT_EQ(stopped.exit_code, 0) << stopped.err;
    EXPECT_TRUE(contains(stopped.err, concat("stopped by a signal and saved; continue with: segre train --out ",
                                             run.string(), " --resume\n")));
    EXPECT_LT(load_run(run, torch::kCPU).step, kSteps);

    const auto resumed = run_program({"train", "--out", run.string(), "--resume"});
    EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_EQ(load_run(run, torch::kCPU).step, kSteps);
    EXPECT_EQ(final_state(run), final_state(folder / "whole"));
  }
}

}  // namespace
}  // namespace segre
