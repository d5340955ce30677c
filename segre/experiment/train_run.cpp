#include <torch/version.h>

#include <nlohmann/json.hpp>

#include "segre/core/error.h"
#include "segre/core/version.h"
#include "segre/experiment/run.h"
#include "segre/experiment/train_loop.h"
#include "segre/experiment/training_data.h"

namespace segre {
namespace {

// Validation works on a model of its own, with the same space, path and precision.
std::optional<Validation> make_validation(const Experiment& experiment, const TrainingData& data, torch::Device device,
                                          double t_max) {
  if (!data.held_out.defined()) return std::nullopt;
  Model model = make_model(experiment, data.source->space(), device);
  if (const auto type = compute_type(experiment.net, device); type != torch::kFloat32)
    model.field().reduce_precision(type);
  return Validation(std::move(model), data.held_out, experiment.train.objective, t_max);
}

}  // namespace

int64_t train_run(Experiment experiment, const RunDirectory& run, const TrainRunOptions& options) {
  const torch::Device device = parse_device(options.device);
  const auto latest = run.latest();
  if (latest && !options.resume)
    fail_input(run.path().string(), ": holds a run already; --resume continues it, another --out starts a new one");
  if (!latest && options.resume) fail_input(run.path().string(), ": has no checkpoint to resume from");
  const TrainingData data = open_training_data(experiment, options.source);
  experiment.train.steps = total_steps(experiment.train, *data.source);
  experiment.train.epochs = 0;  // resolved
  const Model model = make_model(experiment, data.source->space(), device);
  Trainer trainer(model, *data.source, experiment.train, static_cast<uint64_t>(experiment.seed),
                  compute_type(experiment.net, device));
  run.create();
  NamedTensors state;
  if (latest) {
    state = read_safetensors(*latest / "model.safetensors");
    trainer.load(state);
  }
  run.write_config(experiment);
  run.write_info({{"command", options.command},
                  {"release", release()},
                  {"revision", revision()},
                  {"seed", experiment.seed},
                  {"device", options.device},
                  {"threads", at::get_num_threads()},
                  {"torch", TORCH_VERSION},
                  {"parameters", n_parameters(model.field())}});
  TrainLoop loop(experiment, run, trainer, make_validation(experiment, data, device, trainer.t_max()),
                 options.max_seconds);
  loop.load(state);
  return loop();
}

}  // namespace segre
