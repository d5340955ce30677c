#pragma once

#include <CLI/CLI.hpp>

#include "segre/core/error.h"
#include "segre/experiment/run.h"

namespace segre::cli {

/// A config's experiment with its data opened.
struct Gathered {
  Experiment experiment;
  std::shared_ptr<DataSource> source;
};

/// Reads CONFIG (or chooses the recipe for the data where it is empty), then applies --data and --set. The recipe is
/// for a device and, unless `max_seconds` is 0, for a training that ends within them.
Gathered gather_experiment(const std::string& config, const std::string& data, const std::vector<std::string>& set,
                           torch::Device device, double max_seconds = 0.0);

/// An experiment that is known already with --data and --set applied; its data are not opened. InputError where there
/// is nothing to learn.
Experiment changed_experiment(Experiment base, const std::string& data, const std::vector<std::string>& set);

/// Adds --checkpoint last|best to a command, and reads its value.
void add_checkpoint_option(CLI::App& command, std::string& value);
Checkpoint parse_checkpoint(const std::string& value);

/// "7" -> 7; InputError names --seed otherwise.
uint64_t parse_seed(const std::string& text);

/// "auto", "float32" or "bfloat16"; InputError names --precision otherwise.
NetPrecision parse_precision(const std::string& text);

/// InputError if an option was given on the command line although what was chosen does not use it: "--steps is not used
/// with --sampler dopri5". `chosen` names the choice as typed.
void require_used(const CLI::App& command, const std::string& option, bool used, const std::string& chosen);

/// The value that the word given to an option stands for; InputError lists the words there are.
template <class E>
E choose(const std::string& option, const std::string& value, const std::vector<std::pair<std::string, E>>& choices) {
  std::string names;
  for (const auto& [name, meaning] : choices) {
    if (name == value) return meaning;
    names += (names.empty() ? "" : ", ") + name;
  }
  fail_input(option, " ", value, ": expected ", names);
}

}  // namespace segre::cli
