#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "tests/support/program.h"

namespace segre::test {

/// The program as ranks 0 ... size - 1 of a job on this machine, with the environment that a launcher gives them.
class Launched {
 public:
  /// Starts them all. `variables`, as in "NAME=value", are set besides RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
  /// MASTER_ADDR and MASTER_PORT. Those still running after `seconds` are killed by wait().
  Launched(int size, const Arguments& arguments, const std::vector<std::string>& variables = {},
           double seconds = 120.0);

  /// Sends a signal to one of them.
  void signal(int rank, int number) const { programs_[static_cast<size_t>(rank)]->signal(number); }
  /// Waits for all of them; rank k's result is number k.
  std::vector<ProgramResult> wait();

 private:
  std::vector<std::unique_ptr<Program>> programs_;
  std::chrono::steady_clock::time_point deadline_;
};

/// Runs them to completion.
std::vector<ProgramResult> run_ranks(int size, const Arguments& arguments);

/// A port that no one listens on.
int free_port();

}  // namespace segre::test
