#include "segre/train/train_loop.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "segre/train/state_names.h"

namespace segre {
namespace {

constexpr double kLookSeconds = 1.0;  // how often losses are fetched for the progress line
constexpr int64_t kLogEvery = Timetable::kLogEvery;
static_assert(kLogEvery <= Trainer::kLossRing);

}  // namespace

TrainLoop::TrainLoop(Trainer& trainer, const Timetable& timetable, Watcher watcher, TrainRecord& record,
                     TrainCallbacks callbacks)
    : trainer_(trainer),
      timetable_(timetable),
      watcher_(std::move(watcher)),
      record_(record),
      callbacks_(std::move(callbacks)),
      first_step_(trainer.n_steps()),
      last_look_(timetable.clock().now()),
      last_report_(timetable.clock().now()) {}

void TrainLoop::load(const NamedTensors& state) {
  const auto at = state.find(state_names::kLossWindow);
  if (at == state.end()) return;
  losses_.sum = at->second[0].item<double>();
  losses_.count = static_cast<int64_t>(at->second[1].item<double>());
}

int64_t TrainLoop::operator()() {
  const TrainPast past = record_.past();
  watcher_.continue_from(past, clock().ranks());
  if (first_step_ == 0) save();  // from here on the run can be resumed
  timetable_.clock().begin_steps();
  trainer_.set_total_steps(timetable_.steps_that_fit(total(), step(), n_new()));
  while (step() < total() && !clock().stop() && !watcher_.is_over()) advance();
  take_losses();
  if (watcher_.is_over()) trainer_.set_total_steps(step());
  save();
  // Also if the run was killed between its last checkpoint and this line.
  if (step() >= total() && !(n_new() == 0 && past.is_logged)) log_losses();
  if (n_new() > 0) record_.finish(total());
  return step();
}

void TrainLoop::advance() {
  trainer_.advance();
  clock().agree_at(step());
  if (step() % kLogEvery == 0) log_losses();
  if (now() - last_look_ > kLookSeconds) take_losses();
  trainer_.set_total_steps(timetable_.steps_that_fit(total(), step(), n_new()));
  if (timetable_.validation_due(step(), total())) validate();
  report_progress();
  if (timetable_.save_due()) save();
}

double TrainLoop::steps_per_second() const {
  return static_cast<double>(n_new()) / std::max(1e-9, timetable_.clock().training());
}

void TrainLoop::take_losses() {
  for (const double loss : trainer_.take_losses()) {
    losses_.sum += loss;
    ++losses_.count;
  }
  if (losses_.count > 0) losses_.mean = losses_.sum / static_cast<double>(losses_.count);
  last_look_ = now();
}

void TrainLoop::report_progress() {
  const bool due = step() % kLogEvery == 0 || step() >= total() || now() - last_report_ > kLookSeconds;
  if (!callbacks_.on_progress || !due) return;
  take_losses();
  last_report_ = now();
  callbacks_.on_progress({.first_step = first_step_,
                          .step = step(),
                          .total = total(),
                          .loss = losses_.mean,
                          .seconds = timetable_.clock().elapsed(),
                          .items_per_second = steps_per_second() * static_cast<double>(trainer_.options().batch),
                          .held_out_nats = watcher_.held_out_nats(),
                          .independent_nats = watcher_.independent_nats()});
}

void TrainLoop::log_losses() {
  take_losses();
  if (losses_.count == 0) return;
  nlohmann::json line{{"step", step()},
                      {"loss", losses_.sum / static_cast<double>(losses_.count)},
                      {"lr", learning_rate(trainer_.options().schedule, step() - 1, total())},
                      {"steps_per_second", steps_per_second()},
                      {"seconds", timetable_.clock().elapsed()}};
  losses_.sum = 0.0;
  losses_.count = 0;
  if (const double nats = trainer_.nats(); std::isfinite(nats)) line["nats"] = nats;
  record_.log(line);
}

void TrainLoop::validate() {
  if (!watcher_.can_validate()) return;
  take_losses();
  bool is_best = false;
  timetable_.validate([&] { is_best = watcher_.validate(step(), trainer_.average(), clock().ranks()); });
  const ValidationResult& result = watcher_.validations().back().result;
  record_.log(watcher_.line());
  if (is_best) {
    save();
    record_.mark_best(step(), result.loss);
  }
  if (callbacks_.on_validation) callbacks_.on_validation({step(), result, is_best});
  if (timetable_.picture_due() || step() >= total() || watcher_.is_over())
    timetable_.draw([&] { record_.draw(step(), watcher_.model()); });
}

void TrainLoop::save() {
  timetable_.save([&] {
    take_losses();  // detects a non-finite loss before its state is saved
    auto state = trainer_.state();
    state[state_names::kLossWindow] = torch::tensor({losses_.sum, static_cast<double>(losses_.count)}, torch::kFloat64);
    record_.save(step(), total(), state);
  });
}

}  // namespace segre
