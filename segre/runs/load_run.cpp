#include "segre/runs/load_run.h"
#include "segre/core/error.h"
#include "segre/runs/run_directory.h"

namespace segre {
namespace {

namespace fs = std::filesystem;

// A model with all tensors of its checkpoint.
struct Loaded {
  LoadedRun run;
  NamedTensors state;
};

Loaded load(const fs::path& path, torch::Device device, Checkpoint which, NetPrecision precision,
            const CustomField& custom) {
  const auto description = read_checkpoint(find_checkpoint(path, which));
  Experiment experiment = description.experiment;
  Model model = make_model(description, device, custom);
  auto state = read_weights(description, model.field());
  try {
    load_weights(model.field(), state, experiment.train.adam.ema > 0.0);
  } catch (const InputError& error) {
    fail_input(description.tensors_file().string(), ": ", error.what());
  }
  if (precision != NetPrecision::automatic) experiment.net.precision = precision;
  if (const auto type = compute_type(experiment.net, device); type != torch::kFloat32)
    model.field().reduce_precision(type);
  const auto times = TimeLaw::spread(state, decision_time(model.space(), model.path()));
  return {{.experiment = experiment,
           .model = std::move(model),
           .step = description.step,
           .times = times,
           .data = description.data},
          std::move(state)};
}

}  // namespace

fs::path find_checkpoint(const fs::path& path, Checkpoint which) {
  const RunDirectory run(path);
  const auto latest = run.latest();
  if (!latest)
    fail_input(path.string(), ": is not a trained run (no checkpoint found); 'segre train --out ", path.string(),
               "' makes one");
  if (which == Checkpoint::chosen && run.best() && read_checkpoint(*latest).experiment.watch.use_best)
    return *run.best();
  if (which != Checkpoint::best) return *latest;
  if (const auto best = run.best()) return *best;
  if (const auto note = run.best_file(); fs::exists(note))
    fail_input(note.string(), ": the checkpoint marked as the best does not exist; use the last");
  fail_input(path.string(), ": has no checkpoint marked as the best, since it was not validated; use the last");
}

LoadedRun load_run(const fs::path& path, torch::Device device, Checkpoint which, NetPrecision precision) {
  return load(path, device, which, precision, {}).run;
}

LoadedRun load_run(const fs::path& path, torch::Device device, const CustomField& custom, Checkpoint which,
                   NetPrecision precision) {
  return load(path, device, which, precision, custom).run;
}

void export_run(const fs::path& from, const fs::path& to, Checkpoint which, const CustomField& custom) {
  if (RunDirectory(to).latest()) fail_input(to.string(), ": already contains a run; choose another folder");
  const auto [run, trained] = load(from, torch::kCPU, which, NetPrecision::automatic, custom);
  // Sampling reads the averaged weights unless there is no average.
  NamedTensors state = named_weights(run.model.field(), run.experiment.train.adam.ema > 0.0);
  for (const auto& name : TimeLaw::state_names())
    if (const auto at = trained.find(name); at != trained.end()) state[name] = at->second;
  RunDirectory out(to);
  if (run.data) out.set_data(*run.data);
  const auto lock = out.lock();
  out.write_config(run.experiment);
  out.save(run.step, state, run.model.space(), run.experiment);
}

}  // namespace segre
