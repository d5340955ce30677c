#include "segre/runs/checkpoint.h"

#include <nlohmann/json.hpp>

#include "segre/core/error.h"
#include "segre/core/json_number.h"
#include "segre/core/version.h"
#include "segre/io/files.h"
#include "segre/train/state_names.h"

namespace segre {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kFormat = 1;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Returns read(), turning any exception into a one-line InputError that names the file.
template <class Read>
auto reading(const fs::path& file, Read&& read) {
  try {
    return read();
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.find(file.string()) != std::string::npos) throw;
    fail_input(file.string(), ": ", message);
  } catch (const nlohmann::json::exception& error) {
    fail_input(file.string(), ": does not describe a model (", error.what(), ")");
  } catch (const c10::OutOfMemoryError& error) {
    fail(file.string(), ": cannot be loaded (", first_line(error.what_without_backtrace()), ")");
  } catch (const c10::Error& error) {
    fail_input(file.string(), ": cannot be loaded (", first_line(error.what_without_backtrace()), ")");
  } catch (const std::exception& error) {
    fail_input(file.string(), ": cannot be loaded (", first_line(error.what()), ")");
  }
}

void check_format(const nlohmann::json& json) {
  if (const int64_t format = json_integer(json.at("format"), "format"); format != kFormat)
    fail_input("format ", format, ", this segre reads format ", kFormat);
}

int64_t read_step(const nlohmann::json& json, const fs::path& checkpoint) {
  const int64_t step = json_integer(json.at("step"), "step");
  if (const auto named = run_files::step_in_name(checkpoint); named != step)
    fail_input("step ", step, " in a folder named ", checkpoint.filename().string(),
               "; the two belong to different checkpoints");
  return step;
}

void check_tensor(const std::string& file, const std::string& name, const torch::Tensor& found,
                  const torch::Tensor& like) {
  if (found.scalar_type() != like.scalar_type())
    fail_input(file, ": the checkpoint's tensor ", name, " is of type ", torch::toString(found.scalar_type()), ", ",
               torch::toString(like.scalar_type()), " was expected");
  if (found.sizes() != like.sizes())
    fail_input(file, ": the checkpoint's tensor ", name, " has shape ", found.sizes(),
               ", the model that model.json describes has ", like.sizes());
  if (found.is_floating_point() && !found.isfinite().all().item<bool>())
    fail_input(file, ": the checkpoint's tensor ", name, " contains non-finite values");
}

// Reads the tensors of a checkpoint and checks them against the required and the optional ones.
NamedTensors read_tensors(const CheckpointDescription& description, const NamedTensors& required,
                          const NamedTensors& allowed) {
  const fs::path path = description.tensors_file();
  const std::string file = path.string();
  auto state = reading(path, [&] { return read_safetensors(path); });
  if (required.contains(state_names::kStep) && !state.contains(state_names::kStep))
    fail_input(file, ": the checkpoint has no tensor ", state_names::kStep,
               "; an exported model can be sampled, but not trained further");
  for (const auto& [name, like] : required)
    if (!state.contains(name)) fail_input(file, ": the checkpoint has no tensor ", name);
  for (const auto& [name, tensor] : state) {
    const auto must = required.find(name);
    const auto may = allowed.find(name);
    if (must == required.end() && may == allowed.end())
      fail_input(file, ": tensor ", name, " does not belong to the model that model.json describes");
    check_tensor(file, name, tensor, must != required.end() ? must->second : may->second);
  }
  if (const auto at = state.find(state_names::kStep);
      at != state.end() && at->second.item<int64_t>() != description.step)
    fail_input(file, ": holds the weights after step ", at->second.item<int64_t>(), ", model.json is of step ",
               description.step);
  return state;
}

// Tensors with the shapes of those that training keeps in addition to the weights in use.
NamedTensors training_tensors(const Field& field) {
  NamedTensors like{{state_names::kStep, torch::empty({}, torch::kInt64)},
                    {state_names::kLossWindow, torch::empty({2}, torch::kFloat64)}};
  for (const auto& name : TimeLaw::state_names()) like[name] = torch::empty({TimeLaw::kBins}, torch::kFloat64);
  for (const auto& [name, weight] : field.parameters())
    for (const char* prefix :
         {state_names::kWeights, state_names::kAverages, state_names::kMeans, state_names::kSquares})
      like[prefix + name] = weight;
  return like;
}

}  // namespace

nlohmann::json describe_checkpoint(int64_t step, const Space& space, const Experiment& experiment,
                                   const std::optional<DataFingerprint>& data) {
  Experiment copy = experiment;
  nlohmann::json description{{"format", kFormat},       {"step", step},
                             {"seed", experiment.seed}, {"release", release()},
                             {"revision", revision()},  {"config", schema_of(copy).to_toml(/*with_help=*/false)},
                             {"space", space.to_json()}};
  if (data) description["data"] = data->to_json();
  return description;
}

CheckpointDescription read_checkpoint(const fs::path& checkpoint) {
  const fs::path file = checkpoint / run_files::kDescription;
  return reading(file, [&] {
    const auto json = read_json(file);
    check_format(json);
    Experiment experiment;
    schema_of(experiment).read_text(json.at("config").get<std::string>(), file.string() + ", config");
    CheckpointDescription out{checkpoint, read_step(json, checkpoint), experiment, Space::from_json(json.at("space")),
                              std::nullopt};
    if (const auto at = json.find("data"); at != json.end()) out.data = DataFingerprint::from_json(*at);
    return out;
  });
}

Model make_model(const CheckpointDescription& description, torch::Device device, const CustomField& custom) {
  return reading(description.description_file(),
                 [&] { return make_model(description.experiment, description.space, device, custom); });
}

NamedTensors read_weights(const CheckpointDescription& description, const Field& field) {
  auto state = read_tensors(description, named_weights(field, description.experiment.train.adam.ema > 0.0),
                            training_tensors(field));
  // A law of times is two tensors. Models exported by early releases have none and use the uniform law.
  const auto& law = TimeLaw::state_names();
  for (const auto& name : law)
    if (!state.contains(name) && (state.contains(law.front()) || state.contains(law.back())))
      fail_input(description.tensors_file().string(), ": the checkpoint has no tensor ", name);
  return state;
}

NamedTensors read_training_state(const CheckpointDescription& description, const NamedTensors& like) {
  return read_tensors(description, like, {{state_names::kLossWindow, torch::empty({2}, torch::kFloat64)}});
}

}  // namespace segre
