#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace segre::cli {

/// What every command gets.
struct Context {
  std::string command_line;  ///< as typed, for run.json
};

/// Adds one subcommand to the program: its options, its example, and what it does when chosen.
using AddCommand = void (*)(CLI::App& app, Context& context);

void add_demo(CLI::App& app, Context& context);
void add_data(CLI::App& app, Context& context);
void add_describe(CLI::App& app, Context& context);
void add_train(CLI::App& app, Context& context);
void add_sample(CLI::App& app, Context& context);
void add_samplers(CLI::App& app, Context& context);
void add_likelihood(CLI::App& app, Context& context);
void add_ood(CLI::App& app, Context& context);
void add_outliers(CLI::App& app, Context& context);
void add_evaluate(CLI::App& app, Context& context);
void add_convergence(CLI::App& app, Context& context);
void add_oracle(CLI::App& app, Context& context);
void add_export(CLI::App& app, Context& context);
void add_keys(CLI::App& app, Context& context);
void add_doctor(CLI::App& app, Context& context);
void add_version(CLI::App& app, Context& context);

/// Thrown by a command that a signal stopped and that saved its work; main() exits with the code for the signal.
struct Stopped {
  int signal;
};

/// Largest count an option takes.
inline constexpr int64_t kMost = 1'000'000'000'000;

/// Most steps of a sampler, as of the key sample.steps: they are planned beforehand.
inline constexpr int64_t kMostSteps = 1'000'000;

/// "90", "90s", "5m", "1h" -> seconds; InputError otherwise.
double parse_duration(const std::string& option, const std::string& text);

/// The folder share/segre that lies beside the program (or where SEGRE_SHARE says).
std::string share_folder();

/// plotly.min.js in it; Error if it is missing. Asked for before the work whose report needs it.
std::filesystem::path plotly_file();

}  // namespace segre::cli
