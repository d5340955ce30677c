#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/support/support.h"

// Drives the built command line, whose path is the macro SEGRE_PROGRAM.

namespace segre::test {

struct ProgramResult {
  int exit_code;  ///< -signal if a signal ended it
  std::string out;
  std::string err;
};

using Arguments = std::vector<std::string>;

/// The program, running on one thread, its output going into files.
class Program {
 public:
  /// Starts it; `out` names the file for stdout if the test needs a special one. `variables`, as in "NAME=value", are
  /// set in its environment.
  explicit Program(const Arguments& arguments, const std::string& out = {},
                   const std::vector<std::string>& variables = {});
  /// Kills it if it is still running.
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void signal(int number) const;
  ProgramResult wait();
  /// The result if it has ended, once.
  std::optional<ProgramResult> result_if_ended();

 private:
  ProgramResult ended_with(int status);

  ScratchFolder folder_;
  std::string out_;
  pid_t process_ = -1;
};

/// Runs it to completion.
ProgramResult run_program(const Arguments& arguments, const std::string& out = {});

/// `first` and then `second`.
Arguments operator+(Arguments first, const Arguments& second);

/// The program refused to work with a training file that has changed since the run learned from it: one
/// line that names the file and what to do, and nothing on standard output.
void expect_overwritten(const ProgramResult& result, const std::filesystem::path& file);

/// Arguments that train `source` into `run` with a network so small that it takes no time.
Arguments tiny_training(const std::string& source, const std::filesystem::path& run, int steps);

}  // namespace segre::test
