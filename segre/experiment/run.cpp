#include "segre/experiment/run.h"

#include <algorithm>
#include <charconv>
#include <iomanip>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#ifdef SEGRE_CUDA
#include <torch/cuda.h>
#endif

#include "segre/core/error.h"
#include "segre/core/json_number.h"
#include "segre/io/files.h"
#include "segre/io/folders.h"
#include "segre/io/json_file.h"

namespace segre {
namespace {

namespace fs = std::filesystem;

const std::string kStepPrefix = "step-";
const char* const kBestFile = "checkpoints/best.json";
constexpr size_t kStepDigits = 13;  // train.steps goes up to 1e12; equal lengths sort by step

std::string step_name(int64_t step) {
  std::ostringstream name;
  name << kStepPrefix << std::setw(kStepDigits) << std::setfill('0') << step;
  return name.str();
}

// Whether a name is step_name() of some step.
bool is_step_name(const std::string& name) {
  return name.starts_with(kStepPrefix) && name.size() == kStepPrefix.size() + kStepDigits &&
         name.find_first_not_of("0123456789", kStepPrefix.size()) == std::string::npos;
}

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
  for (const fs::path& path : entries_of(run / "checkpoints"))
    if (is_step_name(path.filename().string()) && fs::is_directory(path)) found.push_back(path);
  return found;
}

// Whether a checkpoint holds what save() writes and nothing else.
bool is_as_saved(const fs::path& checkpoint) {
  for (const fs::path& path : entries_of(checkpoint)) {
    const std::string unfinished = temporary_for(path);
    const std::string name = unfinished.empty() ? path.filename().string() : unfinished;
    if (name != "model.safetensors" && name != "model.json") return false;
  }
  return true;
}

// A checkpoint goes at once or not at all: half of one would look like a whole.
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

// Temporaries of our own files, and of no others.
void clear_unfinished(const fs::path& folder, const std::function<bool(const std::string& name)>& ours) {
  remove_if(folder, [&](const std::string& name) { return ours(temporary_for(name)); });
}

bool is_run_file(const std::string& name) {
  return name == "config.toml" || name == "run.json" || name == "metrics.jsonl";
}
bool is_checkpoint_file(const std::string& name) { return name == "best.json" || is_step_name(name); }

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

fs::path RunDirectory::picture(int64_t step) const { return path_ / "samples" / (step_name(step) + ".png"); }

std::unique_ptr<ProcessLock> RunDirectory::lock() const {
  MadeFolders made;
  made.make(path_);
  auto lock = std::make_unique<ProcessLock>(path_ / ".lock", path_.string());
  made.keep();
  return lock;
}

void RunDirectory::create() const {
  MadeFolders made;
  for (const char* folder : {"checkpoints", "samples"}) {
    try {
      made.make(path_ / folder);
    } catch (const FileError& error) {
      throw FileError(path_.string(), "cannot be made", error.code());
    }
  }
  made.keep();
  clear_unfinished(path_, is_run_file);
  clear_unfinished(path_ / "checkpoints", is_checkpoint_file);
  clear_unfinished(path_ / "samples", is_picture_name);
}

void RunDirectory::remove() const {
  for (const fs::path& checkpoint : checkpoints(path_))
    if (is_as_saved(checkpoint)) remove_checkpoint(checkpoint);
  create();  // clears what was left unfinished
  remove_if(path_ / "checkpoints", [](const std::string& name) { return name == "best.json"; });
  remove_if(path_ / "samples", is_picture_name);
  remove_if(path_, is_run_file);
  std::error_code ignored;  // a folder with something else in it stays
  for (const char* folder : {"checkpoints", "samples"}) fs::remove(path_ / folder, ignored);
}

void RunDirectory::write_config(const Experiment& experiment) const {
  write_file_whole(config(), [&](std::ostream& out) { out << toml_of(experiment); });
}

void RunDirectory::write_info(const nlohmann::json& info) const {
  write_file_whole(path_ / "run.json", [&](std::ostream& out) { out << info.dump(2) << '\n'; });
}

void RunDirectory::save(int64_t step, const NamedTensors& state, const Space& space,
                        const Experiment& experiment) const {
  const fs::path target = path_ / "checkpoints" / step_name(step);
  if (!fs::exists(target)) {
    write_directory_whole(target, [&](const fs::path& folder) {
      write_safetensors(folder / "model.safetensors", state);
      const auto description = describe_checkpoint(step, space, experiment, data_);
      write_file_whole(folder / "model.json", [&](std::ostream& out) { out << description.dump(2) << '\n'; });
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
  write_file_whole(path_ / kBestFile, [&](std::ostream& out) {
    out << nlohmann::json{{"step", step}, {"validation_loss", validation_loss}}.dump() << '\n';
  });
}

double RunDirectory::best_loss() const {
  if (!best()) return std::numeric_limits<double>::infinity();
  return read_best(path_ / kBestFile).loss;
}

std::optional<fs::path> RunDirectory::latest() const {
  const auto all = checkpoints(path_);
  if (all.empty()) return std::nullopt;
  return all.back();
}

std::optional<fs::path> RunDirectory::best() const {
  if (!fs::exists(path_ / kBestFile)) return std::nullopt;
  const fs::path found = path_ / "checkpoints" / step_name(read_best(path_ / kBestFile).step);
  if (!fs::exists(found)) return std::nullopt;
  return found;
}

torch::Device parse_device(const std::string& name) {
  if (name == "cpu") return torch::kCPU;
  constexpr size_t kPrefix = 5;  // "cuda:"
  int index = 0;
  const char* const end = name.data() + name.size();
  const auto parsed = name.starts_with("cuda:") ? std::from_chars(name.data() + kPrefix, end, index)
                                                : std::from_chars_result{end, std::errc::invalid_argument};
  const bool is_numbered = parsed.ec == std::errc() && parsed.ptr == end && index >= 0;
  if (name != "cuda" && !is_numbered) fail_input("--device ", name, ": expected cpu, cuda or cuda:N");
#ifdef SEGRE_CUDA
  if (!torch::cuda::is_available())
    fail_input("--device ", name, ": no usable NVIDIA GPU was found; see 'segre doctor'");
  if (index >= static_cast<int>(torch::cuda::device_count()))
    fail_input("--device ", name, ": this machine has ", static_cast<int>(torch::cuda::device_count()),
               " GPUs, counted from 0");
  return torch::Device(name);
#else
  fail_input("--device ", name, ": this build has no CUDA; 'make build CUDA=1' makes one that has");
#endif
}

}  // namespace segre
