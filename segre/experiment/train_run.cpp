#include <torch/version.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "segre/core/error.h"
#include "segre/core/interrupt.h"
#include "segre/core/progress.h"
#include "segre/core/version.h"
#include "segre/experiment/run.h"

namespace segre {
namespace {

constexpr double kRefitSeconds = 1.0;  // how often --max-time measures the speed
constexpr double kCheckpointSeconds = 30.0;
constexpr double kMostSteps = 1e11;  // what --max-time may ask for, below what train.steps allows
constexpr int64_t kLogEvery = 50;

// The running loop: everything train_run does between the first step and the last.
class TrainLoop {
 public:
  TrainLoop(Experiment& experiment, const RunDirectory& run, Trainer& trainer, const Space& space, double max_seconds)
      : experiment_(experiment),
        run_(run),
        trainer_(trainer),
        space_(space),
        max_seconds_(max_seconds),
        first_step_(trainer.n_steps()),
        metrics_(run.metrics(), std::ios::app) {}

  int64_t operator()() {
    const InterruptGuard interrupt;
    Progress progress("train", total(), first_step_);
    while (trainer_.n_steps() < total() && !InterruptGuard::requested()) {
      const double loss = trainer_.step();
      log(loss);
      fit_into_time();
      progress.set_total(total());
      progress.update(trainer_.n_steps(), concat("loss ", mean_loss_));
      if (now_seconds() - last_save_ > kCheckpointSeconds) save();
    }
    write_metrics();
    save();
    experiment_.train.steps = total();
    run_.write_config(experiment_);
    return trainer_.n_steps();
  }

 private:
  int64_t total() const { return trainer_.options().steps; }
  double elapsed() const { return now_seconds() - start_; }

  void save() {
    run_.save(trainer_.n_steps(), trainer_.state(), space_);
    last_save_ = now_seconds();
  }

  // Sums losses and writes their mean now and then.
  void log(double loss) {
    sum_ += loss;
    if (++n_summed_ == kLogEvery) write_metrics();
  }

  void write_metrics() {
    if (n_summed_ == 0) return;
    mean_loss_ = sum_ / static_cast<double>(n_summed_);
    sum_ = 0.0;
    n_summed_ = 0;
    const int64_t step = trainer_.n_steps();
    const auto rate = static_cast<double>(step - first_step_) / elapsed();
    nlohmann::json line{{"step", step},
                        {"loss", mean_loss_},
                        {"lr", learning_rate(trainer_.options().schedule, step - 1, total())},
                        {"steps_per_second", rate},
                        {"seconds", elapsed()}};
    if (std::isfinite(trainer_.nats())) line["nats"] = trainer_.nats();
    metrics_ << line.dump() << std::endl;
  }

  // With a time limit: makes the schedule end when the time does, from the speed of the last second or so.
  void fit_into_time() {
    if (max_seconds_ <= 0.0 || now_seconds() - fitted_at_ < std::min(kRefitSeconds, 0.1 * max_seconds_)) return;
    const double rate = static_cast<double>(trainer_.n_steps() - fitted_step_) / (now_seconds() - fitted_at_);
    const double left = std::max(0.0, max_seconds_ - elapsed());
    trainer_.set_total_steps(trainer_.n_steps() + static_cast<int64_t>(std::min(kMostSteps, rate * left)));
    fitted_at_ = now_seconds();
    fitted_step_ = trainer_.n_steps();
  }

  Experiment& experiment_;
  const RunDirectory& run_;
  Trainer& trainer_;
  const Space& space_;
  double max_seconds_;
  int64_t first_step_;
  std::ofstream metrics_;
  double start_ = now_seconds();
  double last_save_ = now_seconds();
  double sum_ = 0.0;
  double mean_loss_ = 0.0;
  int64_t n_summed_ = 0;
  double fitted_at_ = now_seconds();
  int64_t fitted_step_ = first_step_;
};

}  // namespace

int64_t train_run(Experiment experiment, const RunDirectory& run, const TrainRunOptions& options) {
  const torch::Device device = parse_device(options.device);
  const auto latest = run.latest();
  if (latest && !options.resume)
    fail_input(run.path().string(), ": holds a run already; --resume continues it, another --out starts a new one");
  if (!latest && options.resume) fail_input(run.path().string(), ": has no checkpoint to resume from");
  const auto source = open_source(experiment.data);
  Model model = make_model(experiment, source->space(), device);
  Trainer trainer(model, *source, experiment.train, static_cast<uint64_t>(experiment.seed));
  run.create();
  if (latest) trainer.load(read_safetensors(*latest / "model.safetensors"));
  run.write_config(experiment);
  run.write_info({{"command", options.command},
                  {"release", release()},
                  {"revision", revision()},
                  {"seed", experiment.seed},
                  {"device", options.device},
                  {"threads", at::get_num_threads()},
                  {"torch", TORCH_VERSION},
                  {"parameters", n_parameters(model.field())}});
  return TrainLoop(experiment, run, trainer, source->space(), options.max_seconds)();
}

}  // namespace segre
