#pragma once

#include <CLI/CLI.hpp>

#include "segre/core/error.h"
#include "segre/runs/load_run.h"
#include "segre/runs/train_plan.h"

namespace segre::cli {

/// Adds --device to a command.
void add_device_option(CLI::App& command, std::string& value);

/// Loads the run that a command names: RUN, --device, --checkpoint and, if it has one, --precision, as typed.
LoadedRun load_named(const std::string& run, const std::string& device, const std::string& checkpoint,
                     NetPrecision precision = NetPrecision::automatic);

/// The same for ranks that share the work, each with its own GPU if they have several. Error if they did not find the
/// same checkpoint, which a training may just have replaced.
LoadedRun load_named(const std::shared_ptr<Ranks>& ranks, const std::string& run, const std::string& device,
                     const std::string& checkpoint, NetPrecision precision = NetPrecision::automatic);

/// InputError if a request has neither a config nor data.
void require_data(const Request& request);

/// Adds --checkpoint last|best to a command, and reads its value.
void add_checkpoint_option(CLI::App& command, std::string& value);
Checkpoint parse_checkpoint(const std::string& value);

/// "7" -> 7; InputError names --seed otherwise.
uint64_t parse_seed(const std::string& text);

/// "auto", "float32" or "bfloat16"; InputError names --precision otherwise.
NetPrecision parse_precision(const std::string& text);

/// InputError if an option was given that the chosen method does not use: "--steps is not used with --sampler dopri5".
/// `chosen` names the choice as typed.
void require_used(const CLI::App& command, const std::string& option, bool used, const std::string& chosen);

/// The meaning of an option's value; InputError lists the valid choices.
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
