// segre train, run as users run it.

#include <cmath>
#include <csignal>
#include <thread>

#include "segre/io/files.h"
#include "segre/path/e_geodesic.h"
#include "segre/runs/load_run.h"
#include "segre/runs/run_directory.h"
#include "tests/support/messages.h"
#include "tests/support/program.h"

namespace segre::train_test {
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

// Trains the coupled pair with these wrong arguments added: the message, without "segre: " and the newline.
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

TEST(CliTrain, SeveralAssignmentsMayFollowOneSet) {
  const ScratchFolder folder;
  const auto config = (folder / "my.toml").string();
  write_text(config, "[net]\nkind = \"mlp\"\nhidden = [8]\n");
  // An argument that is not an assignment is the config, as always.
  const auto result = run_program({"train", "--set", "train.steps=3", "train.batch=64", config, "--data", "coupled",
                                   "--out", (folder / "run").string(), "--set", "train.lr=0.25", "seed=7"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string used = read_file(folder / "run" / "config.toml");
  for (const char* line : {"steps = 3\n", "batch = 64\n", "lr = 0.25\n", "seed = 7\n", "hidden = [8]\n"})
    EXPECT_TRUE(contains(used, line)) << line;
  EXPECT_EQ(train_error({"--set", "train.lr=0.25", "train.lrr=1"}),
            "--set: unknown key train.lrr; the nearest known key is train.lr");
  const auto described = run_program({"describe", "--data", "coupled", "--set", "net.kind=mlp", "net.hidden=[8]"});
  EXPECT_EQ(described.exit_code, 0) << described.err;
  const auto sampled = run_program({"sample", (folder / "run").string(), "--count", "2", "--out", "-", "--set",
                                    "sample.stop=end", "sample.steps=4"});
  EXPECT_EQ(sampled.exit_code, 0) << sampled.err;
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

TEST(CliTrain, ALabelDeclaredForTrainingCanBeScored) {
  const ScratchFolder folder;
  const auto run = folder / "run";
  write_text(folder / "train.csv", "1,0\n1,1\n1,0\n");
  write_text(folder / "valid.csv", "0,0\n1,1\n");
  const std::string train = "csv:" + (folder / "train.csv").string() + "?header=0";
  const std::string valid = "csv:" + (folder / "valid.csv").string() + "?header=0";
  EXPECT_EQ(
      train_error({"--set", "data.validation=" + valid}, train),
      (folder / "valid.csv").string() +
          ":1: column x1 has the label '0', which training never saw; it has 1 (if it can occur, train with it "
          "declared: labels= or dictionary= of csv:, a row with p = 0 of joint:); unseen=skip leaves such rows out");
  auto result =
      run_program(tiny_training(train + "&labels=0|1", run, 2) + Arguments{"--set", "data.validation=" + valid});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  result = run_program({"likelihood", run.string(), "--data", valid, "--times", "32", "--out", "-"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

// The model cannot store such a label: training would fail on saving.
TEST(CliTrain, TextThatIsNotUtf8IsRefusedBeforeTraining) {
  const ScratchFolder folder;
  const auto file = (folder / "t.csv").string();
  write_text(file, "a\ncaf\xe9\nx\n");
  EXPECT_EQ(train_error({}, "csv:" + file),
            file +
                ":2: column a is not UTF-8: \\xe9 at byte 4 of 'caf\\xe9'; if the file is Latin-1, read it with "
                "encoding=latin1");
  const auto run = folder / "run";
  auto result = run_program(tiny_training("csv:" + file + "?encoding=latin1", run, 2));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  result = run_program({"sample", run.string(), "--count", "50", "--out", "-"});
  EXPECT_TRUE(contains(result.out, "caf\xc3\xa9"));
}

TEST(CliTrain, NothingToLearnIsSaidSo) {
  const ScratchFolder folder;
  const auto result = run_program({"train", "--out", (folder / "run").string()});
  EXPECT_EQ(result.exit_code, kBadInput);
  EXPECT_TRUE(contains(result.err, "segre: nothing to learn: give --data SOURCE"));
}

TEST(CliTrain, ABadMaxTimeIsNamed) {
  for (const char* text : {"soon", "60 s", "5d", "-1s", "0s", "s", "nan", "1e400", "1e308h", "inf"})
    EXPECT_EQ(train_error({concat("--max-time=", text)}),
              concat("--max-time ", text, ": expected a time such as 60s, 5m or 1h"));
}

TEST(CliTrain, UnknownDevicesAreRefused) {
  EXPECT_EQ(train_error({"--device", "tpu"}), "--device tpu: expected cpu, cuda or cuda:N");
#ifndef SEGRE_CUDA
  EXPECT_EQ(train_error({"--device", "cuda"}),
            "--device cuda: this build has no CUDA; rebuild with 'make build CUDA=1'");
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
  EXPECT_EQ(result.err,
            concat("segre: ", run.string(), ": already contains a run; resume it, or choose another directory\n"));
  EXPECT_EQ(final_state(run), before);
}

TEST(CliTrain, ResumeGoesOnWithMoreSteps) {
  const ScratchFolder folder;
  const Arguments constant{"--set", "train.schedule=constant"};  // or the schedule depends on the number of steps
  ASSERT_EQ(run_program(tiny_training("coupled", folder / "whole", 6) + constant).exit_code, 0);
  ASSERT_EQ(run_program(tiny_training("coupled", folder / "run", 3) + constant).exit_code, 0);
  const auto result = run_program({"train", "--out", (folder / "run").string(), "--resume", "--set", "train.steps=6"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.err, "trained 3 steps in "));
  EXPECT_EQ(final_state(folder / "run"), final_state(folder / "whole"));
}

// The message that refuses --resume, without "segre: RUN: " and the newline.
std::string resume_error(const fs::path& run, const Arguments& more) {
  const auto before = final_state(run);
  const auto result = run_program(Arguments{"train", "--out", run.string(), "--resume"} + more);
  EXPECT_EQ(result.exit_code, kBadInput);
  EXPECT_EQ(final_state(run), before);
  std::string message = test::after(concat("segre: ", run.string(), ": "), result.err);
  EXPECT_EQ(message.find('\n'), message.size() - 1) << "one line";
  message.pop_back();
  return message;
}

const char* const kAnotherRun =
    " when the checkpoint was made; resuming continues the same run, another directory starts a new one";

TEST(CliTrain, ResumeRefusesAnotherPath) {
  const ScratchFolder folder;
  const auto run = folder / "run";
  ASSERT_EQ(run_program(tiny_training("coupled", run, 2)).exit_code, 0);
  EXPECT_EQ(resume_error(run, {"--set", "path.eps=0.4"}),
            std::string("path.eps is 0.4 now and was 0.01") + kAnotherRun);
  EXPECT_EQ(resume_error(run, {"--seed", "5", "--set", "train.steps=9"}),
            std::string("seed is 5 now and was 1") + kAnotherRun);
  EXPECT_EQ(resume_error(run, {"--data", "mixture"}),
            std::string("variable 1 of the data is 'x' now and was 'y1'") + kAnotherRun);
}

TEST(CliTrain, ResumeHoldsAnotherConfigAgainstTheCheckpointToo) {
  const ScratchFolder folder;
  const auto run = folder / "run";
  ASSERT_EQ(run_program(tiny_training("coupled", run, 2)).exit_code, 0);
  const auto config = (folder / "my.toml").string();
  const std::string same = "data.source = \"coupled\"\nnet = {kind = \"mlp\", hidden = [8]}\n";
  write_text(config, same + "train = {evidence = \"any\", batch = 32, steps = 3}\n");
  EXPECT_EQ(resume_error(run, {config}), std::string("train.batch is 32 now and was 64") + kAnotherRun);
  write_text(config, same + "train = {evidence = \"any\", batch = 64, steps = 3, lr = 0.5}\n");
  const auto result = run_program({"train", config, "--out", run.string(), "--resume"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(load_run(run, torch::kCPU).step, 3);
}

TEST(CliTrain, ResumeRefusesWhatWasChangedInTheRunsConfigAndNeedsNone) {
  const ScratchFolder folder;
  const auto run = folder / "run";
  ASSERT_EQ(run_program(tiny_training("coupled", run, 2)).exit_code, 0);
  Experiment e;
  schema_of(e).read_file(run / "config.toml");
  e.path.of<EGeodesicOptions>().eps = 0.25;
  RunDirectory(run).write_config(e);
  EXPECT_EQ(resume_error(run, {"--set", "train.steps=4"}),
            std::string("path.eps is 0.25 now and was 0.01") + kAnotherRun);
  fs::remove(run / "config.toml");
  const auto result = run_program({"train", "--out", run.string(), "--resume", "--set", "train.steps=4"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(load_run(run, torch::kCPU).step, 4);
}

TEST(CliTrain, ResumeFollowsDataThatMovedAndRefusesDataThatChanged) {
  const ScratchFolder folder;
  const auto run = folder / "run";
  write_text(folder / "a.csv", "x,y\n0,0\n1,1\n0,0\n");
  ASSERT_EQ(run_program(tiny_training("csv:" + (folder / "a.csv").string(), run, 2)).exit_code, 0);
  fs::rename(folder / "a.csv", folder / "b.csv");
  const Arguments moved{"--data", "csv:" + (folder / "b.csv").string(), "--set", "train.steps=3"};
  const auto result = run_program(Arguments{"train", "--out", run.string(), "--resume"} + moved);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  write_text(folder / "b.csv", "x,y\n0,0\n1,1\n0,0\n1,1\n");
  EXPECT_EQ(resume_error(run, {"--set", "train.steps=4"}),
            "data.source = csv:" + (folder / "b.csv").string() + " holds 4 items now and held 3" + kAnotherRun);
}

TEST(CliTrain, ResumeWithoutARunIsRefused) {
  const ScratchFolder folder;
  const auto result = run_program({"train", "--out", (folder / "none").string(), "--resume"});
  EXPECT_EQ(result.exit_code, kBadInput);
  EXPECT_TRUE(contains(result.err, (folder / "none").string()));
}

TEST(CliTrain, SaysWhatItDoesHowGoodItIsAndWhatToTypeNext) {
  const ScratchFolder folder;
  const auto run = (folder / "run").string();
  const auto result = run_program(tiny_training("coupled", run, 200));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* text :
       {"data      table of 2 variables with 2 labels each; unlimited training items, 512 held out",
        "network   MLP with 1 hidden layer, 204 parameters\n", "training  200 steps of ", "trained 200 steps in ",
        "held out  ", " nats per item (a bound on -log p, over 128 items)\n",  // those that validations looked at
        "baseline  1.387 if the columns were independent, 1.386 if labels were equally likely\n"})
    EXPECT_TRUE(contains(result.err, text)) << text << "\n" << result.err;
  EXPECT_TRUE(contains(result.err, concat("next      segre sample ", run, " --count 1000 --out samples.csv\n")));
}

// Of 150,000 rows sorted by year the first 100,000 do not have the last one.
TEST(CliTrain, TheBaselineOfASortedFileIsThatOfAllItsRows) {
  const ScratchFolder folder;
  std::string text = "year,side\n";
  for (const char* year : {"2001", "2002", "2003"})
    for (int k = 0; k < 50'000; ++k) text += concat(year, k % 2 == 0 ? ",l\n" : ",r\n");
  write_text(folder / "t.csv", text);
  const auto result = run_program(tiny_training("csv:" + (folder / "t.csv").string(), folder / "run", 1) +
                                  Arguments{"--set", "watch.evaluations=4"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  // Shares of a choice of rows are off by 0.002, which costs its square; that of the held-out rows cancels with it.
  const double expected = std::log(3.0) + std::log(2.0);
  const std::string words = "baseline  ";
  ASSERT_TRUE(contains(result.err, words));
  EXPECT_NEAR(std::stod(result.err.substr(result.err.find(words) + words.size())), expected, 1e-3) << result.err;
}

TEST(CliTrain, ResumingAFinishedRunSaysThatNothingWasDoneAndChangesNoConfig) {
  const ScratchFolder folder;
  const auto run = folder / "run";
  ASSERT_EQ(run_program(tiny_training("coupled", run, 2)).exit_code, 0);
  const std::string config = read_file(run / "config.toml");
  const std::string info = read_file(run / "run.json");
  const auto result = run_program({"train", "--out", run.string(), "--resume", "--set", "train.lr=0.5"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, concat(run.string(), ": all 2 steps are already done, nothing to do (to continue, use --set ",
                               "train.steps=N with a larger N, or --max-time)\n"));
  EXPECT_EQ(read_file(run / "config.toml"), config);
  EXPECT_EQ(read_file(run / "run.json"), info);
  EXPECT_EQ(resume_error(run, {"--set", "train.steps=1"}),
            "train.steps is 1 and 2 steps are done; a larger train.steps continues");
}

TEST(CliTrain, AFinishedRunTrainsOnForATime) {
  const ScratchFolder folder;
  const auto run = folder / "run";
  ASSERT_EQ(run_program(tiny_training("coupled", run, 2)).exit_code, 0);
  const auto result = run_program({"train", "--out", run.string(), "--resume", "--max-time", "1s"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.err, ", after 2 earlier ones, within 1.0s")) << result.err;
}

TEST(CliTrain, ATimeTooShortForAnyStepsIsSaidAtOnce) {
  const ScratchFolder folder;
  const auto result =
      run_program({"train", "--data", "streets", "--out", (folder / "run").string(), "--max-time", "0.01s"});
  EXPECT_EQ(result.exit_code, kBadInput);
  EXPECT_TRUE(contains(result.err, "the time limit is too short: a step of ")) << result.err;
  EXPECT_TRUE(contains(result.err, " are left for fewer than 10 of them; give ")) << result.err;
  EXPECT_FALSE(fs::exists(folder / "run"));
}

TEST(CliTrain, MaxTimeEndsInTime) {
  const ScratchFolder folder;
  const auto result =
      run_program(tiny_training("coupled", folder / "run", 1'000'000'000) + Arguments{"--max-time", "1.5s"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err.find("stopped by a signal"), std::string::npos) << "it came to its end";
}

TEST(CliTrain, MaxTimeIsReadInItsUnit) {
  // 1.08 seconds each; if read as a shorter unit, training would stop at once.
  for (const char* text : {"0.0003h", "0.018m"}) {
    const ScratchFolder folder;
    const auto run = folder / "run";
    const auto result = run_program(tiny_training("coupled", run, 1'000'000'000) + Arguments{"--max-time", text});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const std::string log = read_file(run / "metrics.jsonl");
    const size_t at = log.rfind("\"seconds\":");
    ASSERT_NE(at, std::string::npos) << log;
    EXPECT_GT(std::stod(log.substr(at + 10)), 0.8) << text;
  }
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
  constexpr int kSteps = 4000;  // a second or two: long enough to be interrupted midway
  const ScratchFolder folder;
  ASSERT_EQ(run_program(tiny_training("coupled", folder / "whole", kSteps)).exit_code, 0);
  for (const int signal : {SIGINT, SIGTERM}) {
    const auto run = folder / concat("stopped-", signal);
    Program program(tiny_training("coupled", run, kSteps));
    wait_for_metrics(run);
    program.signal(signal);
    const auto stopped = program.wait();
    EXPECT_EQ(stopped.exit_code, 128 + signal) << stopped.err;
    EXPECT_TRUE(contains(stopped.err, "\nstopping after this step; a second signal ends at once\n"));
    EXPECT_TRUE(contains(stopped.err, concat("stopped by a signal and saved; continue with: segre train --out ",
                                             run.string(), " --resume\n")));
    EXPECT_LT(load_run(run, torch::kCPU).step, kSteps);

    const auto resumed = run_program({"train", "--out", run.string(), "--resume"});
    EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_EQ(load_run(run, torch::kCPU).step, kSteps);
    EXPECT_EQ(final_state(run), final_state(folder / "whole"));
  }
}

TEST(CliTrain, ASecondWriterIsRefusedWithTheProcessAndReadersAreNot) {
  const ScratchFolder folder;
  const auto run = folder / "run";
  Program first(tiny_training("coupled", run, 1'000'000'000));
  wait_for_metrics(run);
  for (const Arguments& more : {Arguments{}, Arguments{"--resume"}}) {
    const auto second = run_program(tiny_training("coupled", run, 10) + more);
    EXPECT_EQ(second.exit_code, kBadInput);
    EXPECT_EQ(second.out, "");
    EXPECT_TRUE(contains(second.err, concat("segre: ", run.string(), ": another process is writing it (process ")));
  }
  EXPECT_EQ(run_program({"sample", run.string(), "--count", "5", "--out", "-"}).exit_code, 0);
  // Even after SIGKILL, the lock is gone with its process.
  first.signal(SIGKILL);
  EXPECT_EQ(first.wait().exit_code, -SIGKILL);
  const auto resumed = run_program(tiny_training("coupled", run, 1) + Arguments{"--resume"});
  EXPECT_EQ(resumed.err.find("another process"), std::string::npos) << resumed.err;
}

TEST(CliTrain, ASecondSignalEndsAtOnce) {
  const ScratchFolder folder;
  const auto run = folder / "run";
  // Steps long enough that the second signal may arrive while the first one is pending.
  Program program(tiny_training("coupled", run, 1'000'000) + Arguments{"--set", "train.batch=65536"});
  for (int k = 0; k < 600 && !fs::exists(run / "checkpoints/step-0000000000000"); ++k)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  program.signal(SIGTERM);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  program.signal(SIGINT);
  const auto ended = program.wait();
  EXPECT_TRUE(ended.exit_code == 130 || ended.exit_code == 143) << ended.exit_code << ended.err;
  EXPECT_FALSE(fs::exists(run / ".lock"));
}

}  // namespace
}  // namespace segre::train_test
