#include "segre/experiment/run.h"

#include <algorithm>
#include <iomanip>
#include <limits>
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
const std::string kStepPrefix = "step-";
const char* const kBestFile = "checkpoints/best.json";
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

std::string step_name(int64_t step) {
  std::ostringstream name;
  name << kStepPrefix << std::setw(kStepDigits) << std::setfill('0') << step;
  return name.str();
}

std::string toml_of(Experiment experiment) { return schema_of(experiment).to_toml(/*with_help=*/false); }

nlohmann::json read_json(const fs::path& path) {
  try {
    return nlohmann::json::parse(read_file(path));
  } catch (const nlohmann::json::exception& error) {
    fail_input(path.string(), ": not valid JSON (", error.what(), ")");
  }
}

struct Best {
  int64_t step;
  double loss;
};

Best read_best(const fs::path& path) {
  const auto json = read_json(path);
  try {
    return {json.at("step").get<int64_t>(), json.at("validation_loss").get<double>()};
  } catch (const nlohmann::json::exception& error) {
    fail_input(path.string(), ": does not name a checkpoint (", error.what(), ")");
  }
}

}  // namespace

fs::path RunDirectory::picture(int64_t step) const { return path_ / "samples" / (step_name(step) + ".png"); }

void RunDirectory::create() const {
  std::error_code error;
  for (const char* folder : {"checkpoints", "samples"}) {
    fs::create_directories(path_ / folder, error);
    if (error) fail(path_.string(), ": cannot be made (", error.message(), ")");
  }
  for (const fs::path& folder : {path_, path_ / "checkpoints", path_ / "samples"})
    for (const auto& entry : fs::directory_iterator(folder))
      if (is_temporary(entry.path())) fs::remove_all(entry.path(), error);
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
  if (fs::exists(target)) return;
  write_directory_whole(target, [&](const fs::path& folder) {
    write_safetensors(folder / "model.safetensors", state);
    const nlohmann::json description{{"format", kFormat},       {"step", step},
                                     {"seed", experiment.seed}, {"release", release()},
                                     {"revision", revision()},  {"config", toml_of(experiment)},
                                     {"space", space.to_json()}};
    write_file_whole(folder / "model.json", [&](std::ostream& out) { out << description.dump(2) << '\n'; });
  });
  const auto all = checkpoints(path_);
  const auto kept = best();
  std::error_code ignored;
  for (size_t k = 0; k + static_cast<size_t>(experiment.watch.keep) < all.size(); ++k)
    if (all[k] != kept) fs::remove_all(all[k], ignored);
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

namespace {

fs::path find_checkpoint(const fs::path& path, Checkpoint which) {
  const RunDirectory run(path);
  const auto found = which == Checkpoint::best ? run.best() : run.latest();
  if (found) return *found;
  if (which == Checkpoint::best && run.latest())
    fail_input(path.string(), ": has no checkpoint marked as the best, since it was not validated; use the last");
  fail_input(path.string(), ": is not a trained run (no checkpoint in it); 'segre train --out ", path.string(),
             "' makes one");
}

}  // namespace

LoadedRun load_run(const fs::path& path, torch::Device device, Checkpoint which, NetPrecision precision) {
  const fs::path checkpoint = find_checkpoint(path, which);
  Experiment experiment;
  schema_of(experiment).read_file(RunDirectory(path).config());
  const fs::path file = checkpoint / "model.json";
  const auto description = read_json(file);
  try {
    if (description.at("format").get<int>() != kFormat)
      fail_input(file.string(), ": format ", description.at("format"), ", this segre reads format ", kFormat);
    Model model = make_model(experiment, Space::from_json(description.at("space")), device);
    const auto state = read_safetensors(checkpoint / "model.safetensors");
    load_weights(model.field(), state, experiment.train.adam.ema > 0.0);
    if (precision != NetPrecision::automatic) experiment.net.precision = precision;
    if (const auto type = compute_type(experiment.net, device); type != torch::kFloat32)
      model.field().reduce_precision(type);
    const double t1 = decision_time(model.space(), model.path());
    return {experiment, std::move(model), description.at("step").get<int64_t>(), TimeLaw::spread(state, t1)};
  } catch (const nlohmann::json::exception& error) {
    fail_input(file.string(), ": does not describe a model (", error.what(), ")");
  }
}

void export_run(const fs::path& from, const fs::path& to, Checkpoint which) {
  const LoadedRun run = load_run(from, torch::kCPU, which);
  const auto trained = read_safetensors(find_checkpoint(from, which) / "model.safetensors");
  if (RunDirectory(to).latest()) fail_input(to.string(), ": holds a run already; choose another folder");
  Experiment experiment = run.experiment;
  // Sampling looks for the averaged weights unless there is no average.
  NamedTensors state;
  const std::string prefix = experiment.train.adam.ema > 0.0 ? "ema." : "weights.";
  for (const auto& [name, weight] : run.model.field().parameters()) state[prefix + name] = weight;
  for (const auto& [name, buffer] : run.model.field().buffers()) state["buffers." + name] = buffer;
  for (const auto& name : TimeLaw::state_names())
    if (const auto at = trained.find(name); at != trained.end()) state[name] = at->second;
  const RunDirectory out(to);
  std::error_code error;
  fs::create_directories(to / "checkpoints", error);
  if (error) fail(to.string(), ": cannot be made (", error.message(), ")");
  out.write_config(experiment);
  out.save(run.step, state, run.model.space(), experiment);
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
