#include "segre/experiment/run.h"

#include <algorithm>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#ifdef SEGRE_CUDA
#include <torch/cuda.h>
#endif

#include "segre/core/error.h"
#include "segre/core/version.h"
#include "segre/io/files.h"

namespace segre {
namespace {

namespace fs = std::filesystem;

constexpr int kFormat = 1;
constexpr size_t kKeptCheckpoints = 2;
const std::string kStepPrefix = "step-";
constexpr int kStepDigits = 13;  // train.steps goes up to 1e12; equal lengths sort by step

// Checkpoint directories, oldest first: their names sort by step.
std::vector<fs::path> checkpoints(const fs::path& run) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(run / "checkpoints", error))
    if (entry.path().filename().string().starts_with(kStepPrefix)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

nlohmann::json read_json(const fs::path& path) {
  try {
    return nlohmann::json::parse(read_file(path));
  } catch (const nlohmann::json::exception& error) {
    fail_input(path.string(), ": not valid JSON (", error.what(), ")");
  }
}

}  // namespace

void RunDirectory::create() const {
  std::error_code error;
  fs::create_directories(path_ / "checkpoints", error);
  if (error) fail(path_.string(), ": cannot be made (", error.message(), ")");
}

void RunDirectory::write_config(const Experiment& experiment) const {
  Experiment copy = experiment;
  const std::string text = schema_of(copy).to_toml(/*with_help=*/false);
  write_file_whole(config(), [&](std::ostream& out) { out << text; });
}

void RunDirectory::write_info(const nlohmann::json& info) const {
  write_file_whole(path_ / "run.json", [&](std::ostream& out) { out << info.dump(2) << '\n'; });
}

void RunDirectory::save(int64_t step, const NamedTensors& state, const Space& space) const {
  std::ostringstream name;
  name << kStepPrefix << std::setw(kStepDigits) << std::setfill('0') << step;
  const fs::path target = path_ / "checkpoints" / name.str();
  if (fs::exists(target)) return;
  write_directory_whole(target, [&](const fs::path& folder) {
    write_safetensors(folder / "model.safetensors", state);
    const nlohmann::json description{{"format", kFormat},
                                     {"step", step},
                                     {"release", release()},
                                     {"revision", revision()},
                                     {"space", space.to_json()}};
    write_file_whole(folder / "model.json", [&](std::ostream& out) { out << description.dump(2) << '\n'; });
  });
  const auto all = checkpoints(path_);
  std::error_code ignored;
  for (size_t k = 0; k + kKeptCheckpoints < all.size(); ++k) fs::remove_all(all[k], ignored);
}

std::optional<fs::path> RunDirectory::latest() const {
  const auto all = checkpoints(path_);
  if (all.empty()) return std::nullopt;
  return all.back();
}

LoadedRun load_run(const fs::path& path, torch::Device device) {
  const RunDirectory run(path);
  const auto checkpoint = run.latest();
  if (!checkpoint)
    fail_input(path.string(), ": is not a trained run (no checkpoint in it); 'segre train --out ", path.string(),
               "' makes one");
  Experiment experiment;
  schema_of(experiment).read_file(run.config());
  const fs::path file = *checkpoint / "model.json";
  const auto description = read_json(file);
  try {
    if (description.at("format").get<int>() != kFormat)
      fail_input(file.string(), ": format ", description.at("format"), ", this segre reads format ", kFormat);
    Model model = make_model(experiment, Space::from_json(description.at("space")), device);
    load_weights(model.field(), read_safetensors(*checkpoint / "model.safetensors"), experiment.train.adam.ema > 0.0);
    return {experiment, std::move(model), description.at("step").get<int64_t>()};
  } catch (const nlohmann::json::exception& error) {
    fail_input(file.string(), ": does not describe a model (", error.what(), ")");
  }
}

torch::Device parse_device(const std::string& name) {
  if (name == "cpu") return torch::kCPU;
  if (name == "cuda" || name.starts_with("cuda:")) {
#ifdef SEGRE_CUDA
    if (!torch::cuda::is_available())
      fail_input("--device ", name, ": no usable NVIDIA GPU was found; see 'segre doctor'");
    const torch::Device device(name);
    if (device.has_index() && device.index() >= torch::cuda::device_count())
      fail_input("--device ", name, ": this machine has ", static_cast<int>(torch::cuda::device_count()),
                 " GPUs, counted from 0");
    return device;
#else
    fail_input("--device ", name, ": this build has no CUDA; 'make build CUDA=1' makes one that has");
#endif
  }
  fail_input("--device ", name, ": expected cpu, cuda or cuda:N");
}

}  // namespace segre
