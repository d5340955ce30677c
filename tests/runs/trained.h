#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "segre/io/files.h"
#include "tests/runs/tiny.h"
#include "tests/support/support.h"
#include "tests/support/threads.h"

// Trained runs, and changes to their files.

namespace segre::test {

/// Trains into `path`, on one thread; returns the path.
inline std::filesystem::path train_into(const std::filesystem::path& path, const Experiment& e = tiny_experiment(),
                                        const TrainRunOptions& options = {}) {
  const Threads one(1);
  train_run(e, RunDirectory(path), options);
  return path;
}

/// The files of a run's last checkpoint.
inline std::filesystem::path description_of(const std::filesystem::path& run) {
  return *RunDirectory(run).latest() / "model.json";
}
inline std::filesystem::path tensors_of(const std::filesystem::path& run) {
  return *RunDirectory(run).latest() / "model.safetensors";
}

/// Changes the last checkpoint's description.
inline void edit_description(const std::filesystem::path& run, const std::function<void(nlohmann::json&)>& edit) {
  const auto file = description_of(run);
  auto json = nlohmann::json::parse(read_file(file));
  edit(json);
  write_text(file, json.dump());
}

/// Changes the config in that description.
inline void edit_config(const std::filesystem::path& run, const std::function<void(Experiment&)>& edit) {
  edit_description(run, [&](nlohmann::json& json) {
    Experiment e;
    schema_of(e).read_text(json.at("config").get<std::string>(), "config");
    edit(e);
    json["config"] = schema_of(e).to_toml(/*with_help=*/false);
  });
}

/// Changes the last checkpoint's tensors.
inline void edit_tensors(const std::filesystem::path& run, const std::function<void(NamedTensors&)>& edit) {
  auto tensors = read_safetensors(tensors_of(run));
  edit(tensors);
  write_safetensors(tensors_of(run), tensors);
}

}  // namespace segre::test
