#pragma once

#include <CLI/CLI.hpp>

#include "segre/experiment/run.h"

namespace segre::cli {

/// A config's experiment with its data opened.
struct Gathered {
  Experiment experiment;
  std::shared_ptr<DataSource> source;
};

/// Reads CONFIG (or chooses the recipe for the data where it is empty), then applies --data and --set.
Gathered gather_experiment(const std::string& config, const std::string& data, const std::vector<std::string>& set);

/// Adds --checkpoint last|best to a command, and reads its value.
void add_checkpoint_option(CLI::App& command, std::string& value);
Checkpoint parse_checkpoint(const std::string& value);

/// "7" -> 7; InputError names --seed otherwise.
uint64_t parse_seed(const std::string& text);

}  // namespace segre::cli
