#include "segre/runs/run_directory.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "segre/core/error.h"
#include "segre/core/json_number.h"
#include "segre/io/files.h"
#include "segre/io/folders.h"

namespace segre {
namespace {

namespace fs = std::filesystem;

using run_files::is_step_name;
using run_files::step_name;

bool is_picture_name(const std::string& name) {
  return name.ends_with(".png") && is_step_name(name.substr(0, name.size() - 4));
}

// The entries of a folder; none if it does not exist. A folder that cannot be read is an error, not an empty one.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator(); at.increment(error))
    found.push_back(at->path());
  if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory)
    fail(folder.string(), ": cannot be read (", error.message(), ")");
  std::sort(found.begin(), found.end());
  return found;
}

// Checkpoint directories, oldest first: their names sort by step.
std::vector<fs::path> checkpoints(const fs::path& run) {
  std::vector<fs::path> found;
  for (const fs::path& path : entries_of(run / run_files::kCheckpoints))
    if (is_step_name(path.filename().string()) && fs::is_directory(path)) found.push_back(path);
  return found;
}

// Whether a checkpoint holds what save() writes and nothing else.
bool is_as_saved(const fs::path& checkpoint) {
  for (const fs::path& path : entries_of(checkpoint)) {
    const std::string unfinished = temporary_for(path);
    const std::string name = unfinished.empty() ? path.filename().string() : unfinished;
    if (name != run_files::kTensors && name != run_files::kDescription) return false;
  }
  return true;
}

// Removes a checkpoint atomically: half of one would look complete.
void remove_checkpoint(const fs::path& checkpoint) {
  const fs::path leaving = temporary_beside(checkpoint);
  std::error_code error;
  fs::rename(checkpoint, leaving, error);
  if (!error) fs::remove_all(leaving, error);
}

void remove_if(const fs::path& folder, const std::function<bool(const std::string& name)>& unwanted) {
  std::error_code ignored;
  for (const fs::path& path : entries_of(folder))
    if (unwanted(path.filename().string())) fs::remove_all(path, ignored);
}

// Removes temporaries of our own files only.
void clear_unfinished(const fs::path& folder, const std::function<bool(const std::string& name)>& ours) {
  remove_if(folder, [&](const std::string& name) { return ours(temporary_for(name)); });
}

bool is_run_file(const std::string& name) {
  return name == run_files::kConfig || name == run_files::kInfo || name == run_files::kMetrics;
}
bool is_checkpoint_file(const std::string& name) { return name == run_files::kBest || is_step_name(name); }

std::string toml_of(Experiment experiment) { return schema_of(experiment).to_toml(/*with_help=*/false); }

struct Best {
  int64_t step;
  double loss;
};

Best read_best(const fs::path& path) {
  const auto json = read_json(path);
  try {
    return {json_integer(json.at("step"), path.string() + ": step"), json.at("validation_loss").get<double>()};
  } catch (const nlohmann::json::exception& error) {
    fail_input(path.string(), ": does not name a checkpoint (", error.what(), ")");
  }
}

}  // namespace

fs::path RunDirectory::best_file() const { return path_ / run_files::kCheckpoints / run_files::kBest; }

fs::path RunDirectory::picture(int64_t step) const { return path_ / run_files::kSamples / (step_name(step) + ".png"); }

std::unique_ptr<ProcessLock> RunDirectory::lock() const {
  MadeFolders made;
  made.make(path_);
  auto lock = std::make_unique<ProcessLock>(path_ / run_files::kLock, path_.string());
  made.keep();
  return lock;
}

void RunDirectory::create() const {
  MadeFolders made;
  for (const char* folder : {run_files::kCheckpoints, run_files::kSamples}) {
    try {
      made.make(path_ / folder);
    } catch (const FileError& error) {
      throw FileError(path_.string(), "cannot be made", error.code());
    }
  }
  made.keep();
  clear_unfinished(path_, is_run_file);
  clear_unfinished(path_ / run_files::kCheckpoints, is_checkpoint_file);
  clear_unfinished(path_ / run_files::kSamples, is_picture_name);
}

void RunDirectory::remove() const {
  for (const fs::path& checkpoint : checkpoints(path_))
    if (is_as_saved(checkpoint)) remove_checkpoint(checkpoint);
  create();  // removes unfinished files
  remove_if(path_ / run_files::kCheckpoints, [](const std::string& name) { return name == run_files::kBest; });
  remove_if(path_ / run_files::kSamples, is_picture_name);
  remove_if(path_, is_run_file);
  std::error_code ignored;  // a folder that is not empty stays
  for (const char* folder : {run_files::kCheckpoints, run_files::kSamples}) fs::remove(path_ / folder, ignored);
}

void RunDirectory::write_config(const Experiment& experiment) const {
  write_file_whole(config(), [&](std::ostream& out) { out << toml_of(experiment); });
}

void RunDirectory::write_info(const nlohmann::json& info) const {
  write_file_whole(info_file(), [&](std::ostream& out) { out << info.dump(2) << '\n'; });
}

void RunDirectory::save(int64_t step, const NamedTensors& state, const Space& space,
                        const Experiment& experiment) const {
  const fs::path target = path_ / run_files::kCheckpoints / step_name(step);
  if (!fs::exists(target)) {
    write_directory_whole(target, [&](const fs::path& folder) {
      write_safetensors(folder / run_files::kTensors, state);
      const auto description = describe_checkpoint(step, space, experiment, data_);
      write_file_whole(folder / run_files::kDescription,
                       [&](std::ostream& out) { out << description.dump(2) << '\n'; });
    });
  }
  prune(experiment.watch.keep);
}

void RunDirectory::prune(int64_t keep) const {
  const auto all = checkpoints(path_);
  const auto kept = best();
  for (size_t k = 0; k + static_cast<size_t>(keep) < all.size(); ++k)
    if (all[k] != kept && is_as_saved(all[k])) remove_checkpoint(all[k]);
}

void RunDirectory::mark_best(int64_t step, double validation_loss) const {
  write_file_whole(best_file(), [&](std::ostream& out) {
    out << nlohmann::json{{"step", step}, {"validation_loss", validation_loss}}.dump() << '\n';
  });
}

double RunDirectory::best_loss() const {
  if (!best()) return std::numeric_limits<double>::infinity();
  return read_best(best_file()).loss;
}

std::optional<fs::path> RunDirectory::latest() const {
  const auto all = checkpoints(path_);
  if (all.empty()) return std::nullopt;
  return all.back();
}

std::optional<fs::path> RunDirectory::best() const {
  if (!fs::exists(best_file())) return std::nullopt;
  const fs::path found = path_ / run_files::kCheckpoints / step_name(read_best(best_file()).step);
  if (!fs::exists(found)) return std::nullopt;
  return found;
}

}  // namespace segre
