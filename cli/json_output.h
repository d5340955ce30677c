#pragma once

#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "segre/core/log.h"
#include "segre/tasks/to_json.h"

namespace segre::cli {

/// Adds --json to a command.
void add_json_option(CLI::App& command, bool& json);

/// CLI11's own error unless a command was given --out, or --json instead.
void require_out(const std::string& out, bool json);

/// InputError if a command that writes its result while it works was given both.
void refuse_out(const std::string& option, const std::string& name, bool json);

/// InputError if a result in JSON and a file called - would both go to standard output.
void refuse_standard_output(const std::string& option, const std::string& name, bool json);

/// A command's result as JSON on standard output, in place of what it prints there otherwise. The notes of the command
/// are in the result.
class JsonOutput {
 public:
  /// Collects notes from here on, if the result is wanted as JSON.
  explicit JsonOutput(bool wanted) {
    if (wanted) notes_.emplace();
  }
  explicit operator bool() const { return notes_.has_value(); }

  template <class Result>
  void print(Result result) {
    auto notes = notes_->take();
    notes.insert(notes.end(), result.notes.begin(), result.notes.end());
    result.notes = std::move(notes);
    std::cout << text_of(to_json(result)) << std::flush;
  }

 private:
  std::optional<NoteCollector> notes_;
};

}  // namespace segre::cli
