#include <torch/version.h>

#include <nlohmann/json.hpp>

#include "segre/core/error.h"
#include "segre/core/talk.h"
#include "segre/core/version.h"
#include "segre/experiment/resume.h"
#include "segre/experiment/run.h"
#include "segre/experiment/train_loop.h"
#include "segre/experiment/training_data.h"

namespace segre {
namespace {

// Validation works on a model of its own, with the same space, path and precision.
std::optional<Validation> make_validation(const Experiment& experiment, const TrainingData& data, torch::Device device,
                                          double t_max, const CustomField& custom) {
  if (!data.held_out.defined()) return std::nullopt;
  Model model = make_model(experiment, data.source->space(), device, custom);
  if (const auto type = compute_type(experiment.net, device); type != torch::kFloat32)
    model.field().reduce_precision(type);
  return Validation(std::move(model), data.held_out, experiment.train.objective, t_max);
}

// The checkpoint that training starts from; none for a new run.
std::optional<CheckpointDescription> checkpoint_to_resume(const RunDirectory& run, bool resume) {
  const auto latest = run.latest();
  if (latest && !resume)
    fail_input(run.path().string(), ": holds a run already; --resume continues it, another --out starts a new one");
  if (!latest && resume) fail_input(run.path().string(), ": has no checkpoint to resume from");
  if (!latest) return std::nullopt;
  return read_checkpoint(*latest);
}

// What can be compared only once the data are open.
void require_same_training(const std::filesystem::path& run, const CheckpointDescription& before,
                           const Experiment& experiment, const Space& space, const DataFingerprint& data) {
  require_enough_steps(run, before, experiment.train.steps);
  require_same_space(run, before, space);
  require_same_data(run, before, experiment, data);
}

}  // namespace

int64_t train_run(Experiment experiment, const RunDirectory& directory, const TrainRunOptions& options) {
  const torch::Device device = parse_device(options.device);
  if (options.field.make) use_custom_field(experiment, options.field);
  std::unique_ptr<ProcessLock> lock;
  if (std::filesystem::exists(directory.path())) lock = directory.lock();
  const auto before = checkpoint_to_resume(directory, options.resume);
  if (before) require_same_config(directory.path(), *before, experiment);
  const std::shared_ptr<DataSource> source = options.source ? options.source : open_source(experiment.data);
  const TrainingData data = open_training_data(experiment, source);
  experiment.train.steps = total_steps(experiment.train, *data.source);
  experiment.train.epochs = 0;  // resolved
  const auto fingerprint = fingerprint_of(*source, experiment.data, experiment.validation, data.held_out);
  if (before) require_same_training(directory.path(), *before, experiment, source->space(), fingerprint);
  RunDirectory run = directory;
  run.set_data(fingerprint);
  const Model model = make_model(experiment, data.source->space(), device, options.field);
  Trainer trainer(model, *data.source, experiment.train, static_cast<uint64_t>(experiment.seed),
                  compute_type(experiment.net, device));
  if (!lock) {  // not earlier: input that is wrong leaves no directory behind
    lock = run.lock();
    if (run.latest()) fail(run.path().string(), ": another process wrote a checkpoint meanwhile; try again");
  }
  NamedTensors state;
  if (before) {
    state = read_training_state(*before, trainer.state());
    trainer.load(state);
    if (before->step == experiment.train.steps)
      talk() << run.path().string() << ": all " << before->step
             << " steps are done; --set train.steps=N with a larger N trains on\n";
  }
  run.create();
  run.write_config(experiment);
  run.write_info({{"command", options.command},
                  {"release", release()},
                  {"revision", revision()},
                  {"seed", experiment.seed},
                  {"device", options.device},
                  {"threads", at::get_num_threads()},
                  {"torch", TORCH_VERSION},
                  {"parameters", n_parameters(model.field())}});
  TrainLoop loop(experiment, run, trainer, make_validation(experiment, data, device, trainer.t_max(), options.field),
                 options.max_seconds, options.callbacks);
  loop.load(state);
  return loop();
}

}  // namespace segre
