#include "segre/experiment/train_loop.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "segre/core/error.h"
#include "segre/io/files.h"
#include "segre/report/picture.h"

namespace segre {
namespace {

constexpr double kLookSeconds = 1.0;                  // how often losses are fetched for the progress line
constexpr int64_t kMostTimedSteps = 100'000'000'000;  // maximum under a time limit, below the maximum of train.steps
constexpr int64_t kLogEvery = 50;                     // steps per line of metrics
constexpr int64_t kPictureEvery = 4;                  // validations
// An evaluation costs a third of an item's training; sampling and validation are allowed half as much again.
constexpr double kEvaluationShare = 0.5;
const char* const kWindowName = "metrics.window";
const char* const kSinceBest = "validations_since_best";
static_assert(kLogEvery <= Trainer::kLossRing);

// The most steps under a time limit: a network that is counted, not trained, needs no more than its config says.
int64_t most_steps(const Experiment& experiment) {
  return is_counted(experiment) ? experiment.train.steps : kMostTimedSteps;
}

int64_t steps_to_come(const Experiment& experiment, const Trainer& trainer, const Pace& pace, const TrainClock& clock) {
  if (!clock.limited()) return trainer.options().steps - trainer.n_steps();
  return std::min(most_steps(experiment) - trainer.n_steps(), pace.steps_within(clock.left(), trainer.options().batch));
}

}  // namespace

TrainLoop::TrainLoop(Experiment& experiment, const RunDirectory& run, Trainer& trainer,
                     std::optional<Validation> validation, double independent, const Pace& pace,
                     const TrainClock& clock, TrainCallbacks callbacks)
    : experiment_(experiment),
      run_(run),
      trainer_(trainer),
      validation_(std::move(validation)),
      independent_(independent),
      clock_(clock),
      callbacks_(std::move(callbacks)),
      most_steps_(most_steps(experiment)),
      expected_steps_(steps_to_come(experiment, trainer, pace, clock)),
      // Plan for all steps unless there is a time limit, so a resumed run validates at the same steps.
      plan_(plan_watch(clock.limited() ? expected_steps_ : trainer.options().steps, trainer.options().batch,
                       picture_evaluations(experiment, trainer.space()))),
      first_step_(trainer.n_steps()),
      best_loss_(run.best_loss()),
      last_save_(clock.now()),
      last_look_(clock.now()),
      last_told_(clock.now()),
      validation_seconds_(kEvaluationShare * pace.item * static_cast<double>(experiment.watch.evaluations)),
      picture_seconds_(kEvaluationShare * pace.item *
                       static_cast<double>(picture_evaluations(experiment, trainer.space()))),
      expected_step_(pace.seconds(trainer.options().batch)) {
  if (is_first())
    log_.emplace(run.metrics(), trainer.n_steps(),
                 experiment.watch.tensorboard ? run.path() / run_files::kTensorBoard : std::filesystem::path());
}

void TrainLoop::load(const NamedTensors& state) {
  if (log_) n_without_best_ = static_cast<int64_t>(log_->latest(kSinceBest).value_or(0.0));
  const auto at = state.find(kWindowName);
  if (at == state.end()) return;
  sum_ = at->second[0].item<double>();
  n_summed_ = static_cast<int64_t>(at->second[1].item<double>());
}

int64_t TrainLoop::operator()() {
  recover_best();
  agree_on_past();
  if (first_step_ == 0) save();  // from here on the run can be resumed
  clock_.begin_steps();
  fit_into_time();
  while (trainer_.n_steps() < total() && !clock_.clock().stop() && !patience_is_over()) {
    trainer_.advance();
    clock_.clock().agree_at(trainer_.n_steps());
    const int64_t step = trainer_.n_steps();
    if (step % kLogEvery == 0) write_metrics();
    if (clock_.now() - last_look_ > kLookSeconds) take_losses();
    fit_into_time();
    if (validation_due()) validate();
    tell_progress();
    if (clock_.now() - last_save_ > experiment_.watch.save_seconds) save();
  }
  take_losses();
  if (patience_is_over()) trainer_.set_total_steps(trainer_.n_steps());
  experiment_.train.steps = total();
  save();
  // Also if the run was killed between its last checkpoint and this line.
  const bool logged = trainer_.n_steps() == first_step_ && log_ && log_->at_start("loss");
  if (trainer_.n_steps() >= total() && !logged) write_metrics();
  if (n_new() > 0 && is_first()) run_.write_config(experiment_);
  return trainer_.n_steps();
}

double TrainLoop::items_per_second() const {
  const double items = static_cast<double>(n_new()) * static_cast<double>(trainer_.options().batch);
  return items / std::max(1e-9, clock_.training());
}

// What only rank 0 has read from the run's files.
void TrainLoop::agree_on_past() {
  const auto numbers = torch::tensor({static_cast<double>(n_without_best_), best_loss_}, torch::kFloat64);
  clock_.clock().ranks().broadcast(numbers);
  n_without_best_ = static_cast<int64_t>(numbers[0].item<double>());
  best_loss_ = numbers[1].item<double>();
}

// Handles a run that was killed between saving a checkpoint and marking it as the best: the log has its loss.
void TrainLoop::recover_best() {
  if (!log_) return;
  const auto loss = log_->at_start("validation_loss");
  if (first_step_ == 0 || !loss || *loss >= best_loss_) return;
  best_loss_ = *loss;
  run_.mark_best(first_step_, *loss);
}

// Due at regular steps or, under a time limit, at regular times; and at the end.
bool TrainLoop::validation_due() const {
  const int64_t step = trainer_.n_steps();
  if (step >= total()) return true;
  if (experiment_.watch.every > 0) return step % experiment_.watch.every == 0;
  if (!clock_.limited()) return step % std::max(kLogEvery, total() / plan_.validations) == 0;
  const auto made = static_cast<double>(validations_.size());
  return clock_.progress() * static_cast<double>(plan_.validations) >= made + 1.0;
}

void TrainLoop::take_losses() {
  for (const double loss : trainer_.take_losses()) {
    sum_ += loss;
    ++n_summed_;
  }
  if (n_summed_ > 0) shown_loss_ = sum_ / static_cast<double>(n_summed_);
  last_look_ = clock_.now();
}

void TrainLoop::tell_progress() {
  const int64_t step = trainer_.n_steps();
  const bool due = step % kLogEvery == 0 || step >= total() || clock_.now() - last_told_ > kLookSeconds;
  if (!callbacks_.on_progress || !due) return;
  take_losses();
  last_told_ = clock_.now();
  const auto* last = validations_.empty() ? nullptr : &validations_.back().result;
  callbacks_.on_progress({.first_step = first_step_,
                          .step = step,
                          .total = total(),
                          .loss = shown_loss_,
                          .seconds = clock_.elapsed(),
                          .items_per_second = items_per_second(),
                          .held_out_nats = last != nullptr ? last->nats : std::numeric_limits<double>::quiet_NaN(),
                          .independent_nats = independent_});
}

void TrainLoop::write_metrics() {
  take_losses();
  if (n_summed_ == 0) return;
  const int64_t step = trainer_.n_steps();
  const auto rate = static_cast<double>(n_new()) / std::max(1e-9, clock_.training());
  nlohmann::json line{{"step", step},
                      {"loss", sum_ / static_cast<double>(n_summed_)},
                      {"lr", learning_rate(trainer_.options().schedule, step - 1, total())},
                      {"steps_per_second", rate},
                      {"seconds", clock_.elapsed()}};
  sum_ = 0.0;
  n_summed_ = 0;
  if (const double nats = trainer_.nats(); std::isfinite(nats)) line["nats"] = nats;
  if (log_) log_->add(line);
}

void TrainLoop::validate() {
  if (!validation_) return;
  take_losses();
  const int64_t step = trainer_.n_steps();
  ValidationResult result{};
  validation_seconds_ = clock_.watch([&] { result = (*validation_)(trainer_.average(), clock_.clock().ranks()); });
  validations_.push_back({step, result});
  nlohmann::json line{{"step", step}, {"validation_loss", result.loss}, {"validation_nats", result.nats}};
  if (std::isfinite(result.nats_error)) line["validation_nats_error"] = result.nats_error;  // unknown for one item
  const bool is_best = result.loss < best_loss_;
  n_without_best_ = is_best ? 0 : n_without_best_ + 1;
  if (experiment_.watch.patience > 0) line[kSinceBest] = n_without_best_;
  if (log_) log_->add(line);
  if (is_best) {
    best_loss_ = result.loss;
    save();
    if (is_first()) run_.mark_best(step, result.loss);
  }
  if (callbacks_.on_validation) callbacks_.on_validation({step, result, is_best});
  const bool wanted = plan_.pictures || experiment_.watch.every > 0;
  const bool on_the_way = wanted && validations_.size() % kPictureEvery == 0;
  if (on_the_way || step >= total() || patience_is_over()) picture_seconds_ = clock_.watch([&] { draw_samples(step); });
}

// Draws with the averaged weights, which validation has just loaded into its model.
void TrainLoop::draw_samples(int64_t step) {
  const Space& space = validation_->model().space();
  const int64_t count = experiment_.watch.grid;
  if (!space.is(PartKind::image) || count == 0 || !is_first()) return;
  const Sampler sampler(validation_->model(), experiment_.sample, static_cast<uint64_t>(experiment_.seed));
  const auto columns = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(count))));
  const Picture picture = draw_label_grid(space, sampler.draw(0, count).labels, columns);
  const std::string png = encode_png_rgb(picture.pixels, picture.height, picture.width);
  try {
    write_file_whole(run_.picture(step), [&](std::ostream& out) { out << png; });
  } catch (const FileError& error) {
    log_->warn(error.what());  // a failed picture must not end the training
  }
  log_->picture(step, png, picture.height, picture.width);
}

// Under a time limit the schedule follows the clock: the share of steps done is the share of time used, so the learning
// rate falls evenly in time. Leaves time for the last validation, picture and checkpoint.
void TrainLoop::fit_into_time() {
  if (!clock_.limited()) return;
  const double end = validation_seconds_ + picture_seconds_ + save_seconds_;
  const double left = (clock_.left() - end) * (1.0 - kWatchShare * (1.0 - clock_.progress()));
  const double step = n_new() > 0 ? clock_.training() / static_cast<double>(n_new()) : expected_step_;
  const double fitting = left > 0.0 ? std::max(1.0, left / std::max(1e-9, step)) : 0.0;
  const double most = static_cast<double>(most_steps_);
  trainer_.set_total_steps(static_cast<int64_t>(std::min(most, static_cast<double>(trainer_.n_steps()) + fitting)));
}

void TrainLoop::save() {
  save_seconds_ = clock_.watch([&] { write_checkpoint(); });
  last_save_ = clock_.now();
}

void TrainLoop::write_checkpoint() {
  take_losses();  // detects a non-finite loss before its state is saved
  auto state = trainer_.state();
  state[kWindowName] = torch::tensor({sum_, static_cast<double>(n_summed_)}, torch::kFloat64);
  // Under a time limit the number of steps changes along the way; a killed run resumes with the current one.
  experiment_.train.steps = total();
  if (!is_first()) return;
  try {
    if (clock_.limited()) run_.write_config(experiment_);
    run_.save(trainer_.n_steps(), state, trainer_.space(), experiment_);
  } catch (const FileError& error) {
    if (!run_.latest()) throw;
    fail(error.what(), "; the last checkpoint is kept and can be resumed");
  }
}

}  // namespace segre
