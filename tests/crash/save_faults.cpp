// Trains a tiny run again and again, each time with a different system call going wrong: killed before it, killed in
// the middle of it, a full disk, a broken disk. After each fault the run must load, resume without complaint and end
// bit for bit like an undisturbed run (weights, optimiser, best checkpoint, losses), with nothing unfinished left.
//
//   segre_crash [EVERY]      tries every EVERY-th call (1: all) of each kind and prints how many points it tried

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <iostream>
#include <map>
#include <regex>

#include "segre/core/text.h"
#include "segre/core/torch.h"
#include "segre/io/files.h"
#include "segre/runs/load_run.h"
#include "segre/runs/run_directory.h"
#include "segre/runs/train_run.h"
#include "tests/crash/faults.h"
#include "tests/runs/tiny.h"

namespace segre {
namespace {

namespace fs = std::filesystem;

constexpr int kKilled = -SIGKILL;
constexpr int kRunFailed = 1;
constexpr int kUnexpected = 3;

Experiment experiment() {
  Experiment e = test::tiny_experiment();
  e.watch.every = 4;
  e.watch.keep = 1;
  e.watch.items = 16;
  e.watch.tensorboard = true;
  return e;
}

// Runs `action` in a child process; returns its exit code, or -signal. The parent makes no tensors: LibTorch's threads
// would not survive a fork.
int in_child(const std::function<int()>& action) {
  const pid_t child = ::fork();
  if (child == 0) {
    int code = kUnexpected;
    try {
      code = action();
    } catch (const InputError& error) {
      std::cerr << "input error: " << error.what() << '\n';
    } catch (const Error& error) {
      code = kRunFailed;
    } catch (const std::exception& error) {
      std::cerr << "unexpected: " << error.what() << '\n';
    }
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int train(const fs::path& path) {
  TrainRunOptions options;
  options.resume = RunDirectory(path).latest().has_value();
  train_run(experiment(), RunDirectory(path), options);
  return 0;
}

// Everything in a finished run that does not depend on the clock, by name.
std::map<std::string, std::string> contents(const fs::path& run) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(run)) {
    const std::string name = fs::relative(entry.path(), run).string();
    if (!entry.is_regular_file() || name.starts_with("tensorboard/")) continue;
    out[name] = read_file(entry.path());
  }
  out["metrics.jsonl"] =
      std::regex_replace(out["metrics.jsonl"], std::regex("\"(seconds|steps_per_second)\":[^,}]*,?"), "");
  return out;
}

int n_temporaries(const fs::path& run) {
  int count = 0;
  if (!fs::exists(run)) return count;
  for (const auto& entry : fs::recursive_directory_iterator(run)) count += temporary_for(entry.path()).empty() ? 0 : 1;
  return count;
}

// What is wrong after a run hit its fault and ended with `code`; empty if nothing is.
std::string check(const fs::path& run, int code, const std::map<std::string, std::string>& whole) {
  if (code != 0 && code != kRunFailed && code != kKilled) return concat("ended with ", code);
  const int loaded = in_child([&] {
    if (RunDirectory(run).latest()) load_run(run, torch::kCPU);
    return 0;
  });
  if (loaded != 0) return "does not load";
  if (in_child([&] { return train(run); }) != 0) return "does not resume";
  const auto found = contents(run);
  for (const auto& [name, bytes] : whole)
    if (!found.contains(name)) return name + " is missing after resuming";
  for (const auto& [name, bytes] : found) {
    if (!whole.contains(name)) return name + " is left over";
    if (bytes != whole.at(name)) return name + " differs";
  }
  return "";
}

struct Scenario {
  const char* name;
  std::function<void(const fs::path&)> prepare;  // fills the run directory beforehand
};

struct Tally {
  int tried = 0;
  int wrong = 0;
  std::map<std::string, int> by_kind{};
};

// The calls of a run without faults, as faults.h logs them: "NUMBER CALL PATH".
std::vector<std::string> calls_of(const Scenario& scenario, const fs::path& run, const fs::path& work) {
  fs::remove_all(run);
  fs::remove(work / "calls");
  scenario.prepare(run);
  in_child([&] {
    segre_arm_faults(run.c_str(), 0, nullptr, (work / "calls").c_str());
    return train(run);
  });
  auto lines = split(read_file(work / "calls"), '\n');
  lines.pop_back();  // after the last newline
  return lines;
}

// Whether a broken disk at this call must end the run: the checkpoint may not be on disk.
bool must_fail(const std::string& call, const std::string& kind) {
  return kind == "EIO" && std::regex_search(call, std::regex(" (fsync /checkpoints|rename /checkpoints/step-|rename "
                                                             "/checkpoints/.*model|write /checkpoints/)"));
}

// Whether the call is part of a removal, which renames to a temporary name first. If the disk refuses it, the leftovers
// stay until the next run clears them; check() verifies that.
bool is_removal(const std::string& call) {
  return std::regex_search(call, std::regex(" (open|unlink|remove) [^ ]*\\.tmp-[0-9]+(/[^/]*)?$"));
}

void try_all(const Scenario& scenario, const fs::path& work, size_t every, Tally& tally) {
  const fs::path run = work / "run";
  const auto whole = contents(work / "whole");
  const auto calls = calls_of(scenario, run, work);
  std::cout << scenario.name << ": " << calls.size() << " system calls" << std::endl;  // no copy in a child's buffer
  for (const char* kind : {"kill", "torn", "ENOSPC", "full", "EIO"})
    for (size_t at = 1; at <= calls.size(); at += every) {
      fs::remove_all(run);
      scenario.prepare(run);
      const int before = n_temporaries(run);
      const int code = in_child([&] {
        segre_arm_faults(run.c_str(), static_cast<long>(at), kind, nullptr);
        return train(run);
      });
      const bool tidy = code == kKilled || is_removal(calls[at - 1]) || n_temporaries(run) <= before;
      std::string trouble = check(run, code, whole);
      if (trouble.empty() && !tidy) trouble = "left temporaries behind";
      if (code == 0 && must_fail(calls[at - 1], kind)) trouble = "the error was ignored";
      ++tally.tried;
      ++tally.by_kind[kind];
      if (trouble.empty()) continue;
      ++tally.wrong;
      std::cout << scenario.name << ", " << kind << " at call " << calls[at - 1] << ": " << trouble << std::endl;
    }
}

int run_all(size_t every) {
  std::string name = (fs::temp_directory_path() / "segre-crash-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) fail("no scratch folder");
  const fs::path work = name;
  // Progress and the runs' own messages.
  if (std::freopen((work / "log").c_str(), "w", stderr) == nullptr) fail("no log");
  in_child([&] { return train(work / "whole"); });
  // Killed in the middle of a checkpoint, with everything that leaves behind.
  in_child([&] {
    segre_arm_faults((work / "stopped").c_str(), 100, "torn", nullptr);
    return train(work / "stopped");
  });
  Tally tally;
  try_all({"a new run", [](const fs::path&) {}}, work, every, tally);
  try_all({"a resumed run", [&](const fs::path& run) { fs::copy(work / "stopped", run, fs::copy_options::recursive); }},
          work, every, tally);
  for (const auto& [kind, count] : tally.by_kind) std::cout << kind << ": " << count << " points\n";
  std::cout << tally.tried << " points tried, " << tally.wrong << " wrong\n";
  if (tally.wrong == 0) fs::remove_all(work);
  return tally.wrong == 0 && tally.tried > 0 ? 0 : 1;
}

}  // namespace
}  // namespace segre

int main(int argc, char** argv) {
  at::set_num_threads(1);
  return segre::run_all(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1);
}
