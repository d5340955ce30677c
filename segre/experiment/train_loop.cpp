#include "segre/experiment/train_loop.h"

#include <cmath>
#include <iomanip>
#include <nlohmann/json.hpp>

#include "segre/core/error.h"
#include "segre/io/files.h"
#include "segre/report/picture.h"

namespace segre {
namespace {

constexpr double kLookSeconds = 1.0;  // how often losses are fetched for the progress line
constexpr double kMostSteps = 1e11;   // what --max-time may ask for, below what train.steps allows
constexpr int64_t kLogEvery = 50;     // steps per line of metrics
constexpr int64_t kValidations = 20;
constexpr int64_t kPictureEvery = 4;  // validations
const char* const kWindowName = "metrics.window";
static_assert(kLogEvery <= Trainer::kLossRing);

std::string rounded(double value) {
  std::ostringstream out;
  out << std::setprecision(4) << value;
  return out.str();
}

}  // namespace

TrainLoop::TrainLoop(Experiment& experiment, const RunDirectory& run, Trainer& trainer,
                     std::optional<Validation> validation, double max_seconds, TrainCallbacks callbacks)
    : experiment_(experiment),
      run_(run),
      trainer_(trainer),
      validation_(std::move(validation)),
      max_seconds_(max_seconds),
      callbacks_(std::move(callbacks)),
      first_step_(trainer.n_steps()),
      log_(run.metrics(), trainer.n_steps(),
           experiment.watch.tensorboard ? run.path() / "tensorboard" : std::filesystem::path()),
      best_loss_(run.best_loss()) {}

void TrainLoop::load(const NamedTensors& state) {
  const auto at = state.find(kWindowName);
  if (at == state.end()) return;
  sum_ = at->second[0].item<double>();
  n_summed_ = static_cast<int64_t>(at->second[1].item<double>());
}

int64_t TrainLoop::operator()() {
  const StopRequest stop(callbacks_);
  recover_best();
  if (first_step_ == 0) save();  // from here on there is something to resume
  Progress progress("train", total(), first_step_);
  while (trainer_.n_steps() < total() && !stop()) {
    trainer_.advance();
    const int64_t step = trainer_.n_steps();
    if (step % kLogEvery == 0) write_metrics();
    if (now_seconds() - last_look_ > kLookSeconds) take_losses();
    fit_into_time();
    if (validation_due()) validate();
    progress.set_total(total());
    const double rate = static_cast<double>(step - first_step_) * static_cast<double>(trainer_.options().batch);
    progress.update(step, concat("loss ", rounded(shown_loss_), "  ", rounded(rate / elapsed()), " items/s"));
    tell_progress();
    if (now_seconds() - last_save_ > experiment_.watch.save_seconds) save();
  }
  take_losses();
  experiment_.train.steps = total();
  save();
  // Also if the run was killed after its last checkpoint and before this line.
  const bool logged = trainer_.n_steps() == first_step_ && log_.at_start("loss");
  if (trainer_.n_steps() >= total() && !logged) write_metrics();
  run_.write_config(experiment_);
  return trainer_.n_steps();
}

// A run that was killed after it saved a checkpoint and before it marked it as the best: the log has its loss.
void TrainLoop::recover_best() {
  const auto loss = log_.at_start("validation_loss");
  if (first_step_ == 0 || !loss || *loss >= best_loss_) return;
  best_loss_ = *loss;
  run_.mark_best(first_step_, *loss);
}

// After every so many steps or, where the clock decides how many there are, after as much time; and at the end.
bool TrainLoop::validation_due() const {
  const int64_t step = trainer_.n_steps();
  if (step >= total()) return true;
  if (experiment_.watch.every > 0) return step % experiment_.watch.every == 0;
  if (max_seconds_ > 0.0) return elapsed() >= static_cast<double>(n_validations_ + 1) * max_seconds_ / kValidations;
  return step % std::max<int64_t>(kLogEvery, total() / kValidations) == 0;
}

void TrainLoop::take_losses() {
  for (const double loss : trainer_.take_losses()) {
    sum_ += loss;
    ++n_summed_;
  }
  if (n_summed_ > 0) shown_loss_ = sum_ / static_cast<double>(n_summed_);
  last_look_ = now_seconds();
}

void TrainLoop::tell_progress() {
  const int64_t step = trainer_.n_steps();
  const bool due = step % kLogEvery == 0 || step >= total() || now_seconds() - last_told_ > kLookSeconds;
  if (!callbacks_.on_progress || !due) return;
  take_losses();
  last_told_ = now_seconds();
  const auto items = static_cast<double>((step - first_step_) * trainer_.options().batch);
  callbacks_.on_progress({step, total(), shown_loss_, elapsed(), items / elapsed()});
}

void TrainLoop::write_metrics() {
  take_losses();
  if (n_summed_ == 0) return;
  const int64_t step = trainer_.n_steps();
  const auto rate = static_cast<double>(step - first_step_) / elapsed();
  nlohmann::json line{{"step", step},
                      {"loss", sum_ / static_cast<double>(n_summed_)},
                      {"lr", learning_rate(trainer_.options().schedule, step - 1, total())},
                      {"steps_per_second", rate},
                      {"seconds", elapsed()}};
  sum_ = 0.0;
  n_summed_ = 0;
  if (const double nats = trainer_.nats(); std::isfinite(nats)) line["nats"] = nats;
  log_.add(line);
}

void TrainLoop::validate() {
  if (!validation_) return;
  take_losses();
  const int64_t step = trainer_.n_steps();
  const auto result = (*validation_)(trainer_.average());
  nlohmann::json line{{"step", step}, {"validation_loss", result.loss}, {"validation_nats", result.nats}};
  if (std::isfinite(result.nats_error)) line["validation_nats_error"] = result.nats_error;  // unknown for one item
  log_.add(line);
  const bool is_best = result.loss < best_loss_;
  if (is_best) {
    best_loss_ = result.loss;
    save();
    run_.mark_best(step, result.loss);
  }
  if (callbacks_.on_validation) callbacks_.on_validation({step, result, is_best});
  if (++n_validations_ % kPictureEvery == 0 || step >= total()) draw_samples(step);
}

// Pictures of the averaged weights, which validation has just put into its model.
void TrainLoop::draw_samples(int64_t step) {
  const Space& space = validation_->model().space();
  const int64_t count = experiment_.watch.grid;
  if (space.layout() != Layout::image || count == 0) return;
  const Sampler sampler(validation_->model(), experiment_.sample, static_cast<uint64_t>(experiment_.seed));
  const auto columns = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(count))));
  const Picture picture = draw_label_grid(space, sampler.draw(0, count).labels, columns);
  const std::string png = encode_png_rgb(picture.pixels, picture.height, picture.width);
  try {
    write_file_whole(run_.picture(step), [&](std::ostream& out) { out << png; });
  } catch (const FileError& error) {
    log_.warn(error.what());  // a picture is no reason to lose a training
  }
  log_.picture(step, png, picture.height, picture.width);
}

// With a time limit the schedule follows the clock: the share of the steps done is the share of the time gone, so the
// learning rate falls as evenly as the clock goes, whatever validations and checkpoints cost in between.
void TrainLoop::fit_into_time() {
  if (max_seconds_ <= 0.0) return;
  const auto done = static_cast<double>(trainer_.n_steps());
  const auto new_steps = static_cast<double>(trainer_.n_steps() - first_step_);
  const double left = max_seconds_ - elapsed();
  const double fitting = left > 0.0 ? std::max(1.0, new_steps * left / elapsed()) : 0.0;
  trainer_.set_total_steps(static_cast<int64_t>(std::min(kMostSteps, done + fitting)));
}

void TrainLoop::save() {
  take_losses();  // a step whose loss is not finite is found before its state is kept
  auto state = trainer_.state();
  state[kWindowName] = torch::tensor({sum_, static_cast<double>(n_summed_)}, torch::kFloat64);
  // Under a time limit the number of steps is known only on the way; a run that is killed goes on with what it was
  // then.
  experiment_.train.steps = total();
  try {
    if (max_seconds_ > 0.0) run_.write_config(experiment_);
    run_.save(trainer_.n_steps(), state, trainer_.space(), experiment_);
  } catch (const FileError& error) {
    if (!run_.latest()) throw;
    fail(error.what(), "; the last checkpoint is kept, --resume continues from it");
  }
  last_save_ = now_seconds();
}

}  // namespace segre
