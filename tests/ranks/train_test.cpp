// Training over ranks gives the bits of training alone: with any number of them, for every kind of network, after
// kills, and when a run goes on with another number.

#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "segre/io/files.h"
#include "segre/io/safetensors.h"
#include "segre/ranks/join.h"
#include "segre/runs/run_directory.h"
#include "tests/support/full_disk.h"
#include "tests/support/launched.h"

namespace segre::train_test {
namespace {

namespace fs = std::filesystem;
using test::Arguments;
using test::Launched;
using test::ProgramResult;
using test::run_program;
using test::run_ranks;
using test::ScratchFolder;
using test::write_text;
using test::operator+;

class TrainRanks : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_gloo()) GTEST_SKIP() << "this build has no Gloo";
  }
};

// Networks whose batches are worth sharing, and one (batch norm) whose items belong together.
struct Case {
  const char* name;
  const char* source;
  Arguments set;
  int steps;
};
const Case kMlp{"mlp", "pinwheel", {"net.kind=mlp", "train.batch=256", "train.shards=8", "train.clip=1"}, 200};
const Case kUNet{"unet", "glyphs", {"net.kind=unet", "net.channels=8", "train.batch=8", "train.shards=4"}, 100};
const Case kTransformer{
    "transformer",
    "coupled",
    {"net.kind=transformer", "net.width=32", "net.layers=2", "train.batch=64", "train.shards=4", "train.evidence=any"},
    200};

Arguments training(const Case& of, const fs::path& run, int steps) {
  Arguments arguments{"train", "--data", of.source, "--out", run.string(), "--set"};
  return arguments + of.set +
         Arguments{concat("train.steps=", steps), "watch.every=50", "watch.evaluations=64", "watch.grid=0",
                   "watch.save_seconds=0.3"};
}

std::string weights_of(const fs::path& run) { return read_file(*RunDirectory(run).latest() / "model.safetensors"); }

// The losses in metrics.jsonl, without what a clock measured.
std::vector<std::string> losses_of(const fs::path& run) {
  std::vector<std::string> losses;
  std::istringstream lines(read_file(RunDirectory(run).metrics()));
  for (std::string line; std::getline(lines, line);) {
    auto entry = nlohmann::json::parse(line);
    for (const char* measured : {"seconds", "steps_per_second"}) entry.erase(measured);
    losses.push_back(entry.dump());
  }
  return losses;
}

void expect_success(const std::vector<ProgramResult>& results) {
  for (size_t k = 0; k < results.size(); ++k)
    EXPECT_EQ(results[k].exit_code, 0) << "rank " << k << ": " << results[k].err;
}

void expect_same_run(const fs::path& run, const fs::path& expected) {
  EXPECT_TRUE(weights_of(run) == weights_of(expected)) << "the weights differ";
  EXPECT_EQ(losses_of(run), losses_of(expected));
}

std::string samples_of(const fs::path& run, int ranks) {
  const fs::path file = run.string() + ".npy";
  expect_success(run_ranks(ranks, {"sample", run.string(), "--count", "6", "--steps", "4", "--out", file.string()}));
  return read_file(file);
}

// Weights, losses and samples of 2 and 4 ranks, against those of a program alone.
void expect_same_bits(const Case& of) {
  const ScratchFolder folder;
  const fs::path alone = folder.path() / "alone";
  const auto result = run_program(training(of, alone, of.steps));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const int ranks : {2, 4}) {
    SCOPED_TRACE(concat(of.name, ", ", ranks, " ranks"));
    const fs::path run = folder.path() / concat("ranks", ranks);
    expect_success(run_ranks(ranks, training(of, run, of.steps)));
    expect_same_run(run, alone);
    EXPECT_TRUE(samples_of(run, ranks) == samples_of(alone, 1)) << "the samples differ";
  }
}

TEST_F(TrainRanks, mlp_has_the_same_bits_Slow) { expect_same_bits(kMlp); }
TEST_F(TrainRanks, unet_has_the_same_bits_Slow) { expect_same_bits(kUNet); }
TEST_F(TrainRanks, transformer_has_the_same_bits_Slow) { expect_same_bits(kTransformer); }

// Three do not divide eight shards; nine are more than there are.
TEST_F(TrainRanks, any_number_of_ranks_has_the_same_bits) {
  const ScratchFolder folder;
  ASSERT_EQ(run_program(training(kMlp, folder.path() / "alone", 20)).exit_code, 0);
  for (const int ranks : {3, 9}) {
    const fs::path run = folder.path() / concat("ranks", ranks);
    expect_success(run_ranks(ranks, training(kMlp, run, 20)));
    EXPECT_TRUE(weights_of(run) == weights_of(folder.path() / "alone")) << ranks << " ranks";
  }
}

// Nothing to exchange: the network is counted.
TEST_F(TrainRanks, a_tree_without_parameters_is_that_of_one) {
  const ScratchFolder folder;
  const Case tree{"tree", "coupled", {"net.kind=tree"}, 20};
  ASSERT_EQ(run_program(training(tree, folder.path() / "alone", tree.steps)).exit_code, 0);
  expect_success(run_ranks(2, training(tree, folder.path() / "run", tree.steps)));
  expect_same_run(folder.path() / "run", folder.path() / "alone");
}

TEST_F(TrainRanks, a_run_of_four_ranks_goes_on_with_two) {
  const ScratchFolder folder;
  ASSERT_EQ(run_program(training(kMlp, folder.path() / "alone", 120)).exit_code, 0);
  const fs::path run = folder.path() / "run";
  // The schedule is that of the whole training, so the first part is ended by a signal.
  Launched first(4, training(kMlp, run, 120));
  while (!RunDirectory(run).latest()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  first.signal(2, SIGTERM);
  for (const auto& result : first.wait()) EXPECT_TRUE(result.exit_code == 143 || result.exit_code == 0) << result.err;
  expect_success(run_ranks(2, training(kMlp, run, 120) + Arguments{"--resume", "auto"}));
  expect_same_run(run, folder.path() / "alone");
}

// Squared distance of the tensors whose names start with `prefix`, relative to their squared norm.
double relative_distance(const NamedTensors& found, const NamedTensors& expected, const std::string& prefix) {
  double distance = 0.0;
  double norm = 0.0;
  for (const auto& [name, tensor] : expected) {
    if (!name.starts_with(prefix)) continue;
    distance += (found.at(name) - tensor).square().sum(torch::kFloat64).item<double>();
    norm += tensor.square().sum(torch::kFloat64).item<double>();
  }
  return distance / norm;
}

// NCCL refuses two ranks on one GPU, so these exchange by Gloo; the optimiser's state is shared out all the same. Adam
// forgets the scale of gradients, its moments do not.
TEST_F(TrainRanks, two_ranks_that_share_a_gpu_train_like_one_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  constexpr int kSteps = 12;  // three run directly, nine replayed
  const ScratchFolder folder;
  const auto training_on_gpu = [&](const char* name) {
    return training({"mlp", "pinwheel", {"net.kind=mlp", "train.batch=256"}, kSteps}, folder.path() / name, kSteps) +
           Arguments{"--device", "cuda"};
  };
  const auto alone = run_program(training_on_gpu("alone"));
  ASSERT_EQ(alone.exit_code, 0) << alone.err;
  expect_success(run_ranks(2, training_on_gpu("two")));
  const auto expected = read_safetensors(*RunDirectory(folder.path() / "alone").latest() / "model.safetensors");
  const auto found = read_safetensors(*RunDirectory(folder.path() / "two").latest() / "model.safetensors");
  // Sums of float32 in another order differ by 1e-7; eight steps were seen to make 2e-5 of it, fifty 1e-3. A wrong sum
  // makes 1.
  for (const char* part : {"weights.", "ema.", "adam.m.", "adam.v."})
    EXPECT_LT(relative_distance(found, expected, part), 1e-6) << part;
}

// What `torchrun --max-restarts` does: whoever fails, all are started again, here also with another number of ranks.
TEST_F(TrainRanks, kills_at_random_moments_leave_no_trace_Slow) {
  const char* asked = std::getenv("SEGRE_KILLS");
  const int kills = asked != nullptr ? std::atoi(asked) : 5;
  const int steps = 60 * kills;
  const ScratchFolder folder;
  ASSERT_EQ(run_program(training(kMlp, folder.path() / "alone", steps)).exit_code, 0);
  const fs::path run = folder.path() / "run";
  const auto command = training(kMlp, run, steps) + Arguments{"--resume", "auto"};
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same moments in every run, as far as a clock allows
  int killed = 0;
  for (int k = 0; k < kills; ++k) {
    const int size = k % 3 == 2 ? 4 : 2;
    // A launcher ends the others of a rank that died before it met them; here they have a few seconds.
    Launched ranks(size, command, {concat("TORCHELASTIC_RESTART_COUNT=", k)}, /*seconds=*/12.0);
    std::this_thread::sleep_for(std::chrono::milliseconds(300 + random() % 2000));
    ranks.signal(static_cast<int>(random() % static_cast<unsigned>(size)), SIGKILL);
    for (const auto& result : ranks.wait()) killed += result.exit_code == -SIGKILL ? 1 : 0;
  }
  EXPECT_GT(killed, 0);
  expect_success(run_ranks(2, command));
  expect_same_run(run, folder.path() / "alone");
}

// The others end within seconds, and the user is told who failed and why.
TEST_F(TrainRanks, a_killed_rank_ends_the_others) {
  const ScratchFolder folder;
  const fs::path run = folder.path() / "run";
  Launched ranks(2, training(kMlp, run, 1'000'000));
  while (!RunDirectory(run).latest()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const auto start = std::chrono::steady_clock::now();
  ranks.signal(1, SIGKILL);
  const auto results = ranks.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));  // 2 s and a busy machine
  EXPECT_EQ(results[0].exit_code, 1);
  EXPECT_NE(results[0].err.find("rank 1 ("), std::string::npos) << results[0].err;
  EXPECT_NE(results[0].err.find("was lost"), std::string::npos) << results[0].err;
}

// Longer than a silent rank is given: one that has not come yet is only late.
TEST_F(TrainRanks, a_late_rank_is_waited_for_Slow) {
  const ScratchFolder folder;
  Launched ranks(2, training(kMlp, folder.path() / "run", 20));
  ranks.signal(1, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::seconds(23));
  ranks.signal(1, SIGCONT);
  const auto results = ranks.wait();
  expect_success(results);
  EXPECT_NE(results[0].err.find("note: waiting for rank 1 of 2 at 127.0.0.1:"), std::string::npos) << results[0].err;
}

// Only rank 0 writes; the others end with it.
TEST_F(TrainRanks, a_full_disk_ends_all_ranks) {
  const ScratchFolder folder;
  const fs::path run = folder.path() / "run";
  std::vector<ProgramResult> results;
  {
    const test::FullDisk full(20'000);  // bytes of a file: room for the metrics, not for a checkpoint
    results = run_ranks(2, training(kMlp, run, 1'000'000));
  }
  for (const auto& result : results) EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_NE(results[0].err.find("model.safetensors: writing failed (File too large)"), std::string::npos)
      << results[0].err;
  EXPECT_FALSE(RunDirectory(run).latest());
}

TEST_F(TrainRanks, what_only_rank_0_refuses_is_told_once) {
  const ScratchFolder folder;
  const auto in_use = folder.path() / "in_use";
  write_text(in_use, "no folder");
  const auto results = run_ranks(3, training(kMlp, in_use, 20));
  EXPECT_EQ(results[0].exit_code, 2);
  EXPECT_NE(results[0].err.find("in_use"), std::string::npos) << results[0].err;
  for (const size_t k : {1, 2}) {
    EXPECT_EQ(results[k].exit_code, 1);
    EXPECT_EQ(results[k].err, "");
  }
}

TEST_F(TrainRanks, wrong_input_is_told_once_by_rank_0) {
  const ScratchFolder folder;
  const auto results = run_ranks(
      3, {"train", "--data", "coupled", "--out", (folder.path() / "run").string(), "--set", "train.shards=3"});
  EXPECT_EQ(results[0].exit_code, 2);
  EXPECT_NE(results[0].err.find("train.shards = 3: expected a power of two"), std::string::npos) << results[0].err;
  for (const auto& result : results) EXPECT_NE(result.exit_code, 0);
  EXPECT_FALSE(fs::exists(folder.path() / "run"));
}

}  // namespace
}  // namespace segre::train_test
