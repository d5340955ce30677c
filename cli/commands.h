#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace segre::cli {

/// Passed to every command.
struct Context {
  std::string command_line;  ///< as typed, for run.json
};

/// Adds a subcommand: its options, its example and its action. To add a command, define such a function in a new file
/// and list it in main.cpp.
using AddCommand = void (*)(CLI::App& app, Context& context);

/// Thrown by a command that a signal stopped, after saving its work; main() exits with the signal's code.
struct Stopped {
  int signal;
};

/// Largest count an option accepts.
inline constexpr int64_t kMost = 1'000'000'000'000;

/// Width of the paragraphs of a command's help.
inline constexpr size_t kHelpWidth = 100;

/// Maximum number of sampler steps, as for the key sample.steps: steps are planned in advance.
inline constexpr int64_t kMostSteps = 1'000'000;

/// The folder share/segre next to the program, or $SEGRE_SHARE if it is set.
std::string share_folder();

/// plotly.min.js in that folder; Error if it is missing. Call this before the work whose report needs it.
std::filesystem::path plotly_file();

}  // namespace segre::cli
