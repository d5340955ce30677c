#include "segre/runs/train_display.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "segre/core/clock.h"
#include "segre/core/error.h"
#include "segre/core/log.h"
#include "segre/core/text.h"

namespace segre {
namespace {

// "pixels"
std::string variables_of(const Space& space) {
  return space.parts().size() == 1 ? words_of(space.parts().front().kind).variables : "variables";
}

// "812.3 +- 4.1", with as many digits as the error justifies.
std::string with_error(const ValidationResult& result) {
  if (!std::isfinite(result.nats_error) || result.nats_error <= 0.0) return plain_digits(result.nats, 4);
  const int digits = std::clamp(static_cast<int>(1.0 - std::floor(std::log10(result.nats_error))), 0, 6);
  return concat(fixed(result.nats, digits), " +- ", fixed(result.nats_error, digits));
}

// Says whether nats still fell by more than a percent in the second half of training.
std::string still_improving(const TrainResult& result, const EndWords& words) {
  const auto& made = result.validations;
  if (made.size() < 2) return "";
  const ValidationPoint& last = made.back();
  if (const auto* best = best_before_the_end(result))
    return concat("held-out items were most likely at step ", best->step, ", ", plain_digits(best->result.nats, 4),
                  " nats; since then the model overfits: ", result.uses_best ? words.best_is_used : words.best_is_kept,
                  "; more data or a smaller network would help");
  const ValidationPoint& half = made[(made.size() - 1) / 2];
  const double gain = half.result.nats - last.result.nats;
  if (gain > 0.01 * std::abs(last.result.nats))
    return concat("still improving (", plain_digits(gain, 2), " nats since step ", half.step,
                  "): longer training would help");
  return "no longer improving: longer training would help little";
}

// How likely held-out items are, beside simple models, and whether that still improves.
void print_quality(const TrainResult& result, const EndWords& words) {
  // Of the weights that will be used.
  const auto* best = result.uses_best ? best_before_the_end(result) : nullptr;
  const ValidationResult& used = best != nullptr ? best->result : result.validations.back().result;
  std::ostream& out = log_stream();
  out << "held out  " << with_error(used) << " nats per item (a bound on -log p, over " << result.n_held_out
      << " items)\n"
      << "baseline  " << plain_digits(result.independent_nats, 4) << " if the " << variables_of(result.space)
      << " were independent, " << plain_digits(result.uniform_nats, 4) << " if labels were equally likely\n";
  if (const std::string text = still_improving(result, words); !text.empty()) out << "progress  " << text << '\n';
}

// Held-out nats next to those of independent variables once they are known, the loss before that.
std::string progress_text(const TrainProgress& progress) {
  const std::string rate = concat(plain_digits(progress.items_per_second, 3), " items/s");
  if (std::isnan(progress.held_out_nats)) return concat("loss ", plain_digits(progress.loss, 4), "  ", rate);
  std::string nats = concat("held out ", plain_digits(progress.held_out_nats, 4), " nats");
  if (std::isfinite(progress.independent_nats))
    nats += concat(" (independent ", plain_digits(progress.independent_nats, 4), ")");
  return concat(nats, "  ", rate);
}

}  // namespace

TrainCallbacks TrainDisplay::callbacks() {
  return {.on_start = [](const TrainStart& start) { log_stream() << describe(start); },
          .on_progress =
              [this](const TrainProgress& progress) {
                if (!bar_) bar_.emplace("train", progress.total, progress.first_step);
                bar_->set_total(progress.total);
                bar_->update(progress.step, progress_text(progress));
              }};
}

const ValidationPoint* best_before_the_end(const TrainResult& result) {
  const auto& made = result.validations;
  if (made.size() < 2) return nullptr;
  const auto best = std::min_element(made.begin(), made.end(),
                                     [](const auto& a, const auto& b) { return a.result.loss < b.result.loss; });
  // All validations use the same times and noise, so the printed error does not blur the difference.
  const ValidationResult& last = made.back().result;
  const double error = std::isfinite(last.nats_error) ? last.nats_error : 0.0;
  return best + 1 != made.end() && best->result.nats + error < last.nats ? &*best : nullptr;
}

void print_recipe(const std::string& text) { log_stream() << "recipe    " << text << '\n'; }

std::string describe(const TrainStart& start) {
  std::ostringstream out;
  out << "data      " << start.space.describe() << "; ";
  if (start.n_items > 0) {
    out << start.n_items << " training items, ";
  } else {
    out << "unlimited training items, ";
  }
  out << (start.n_held_out > 0 ? concat(start.n_held_out, " held out for validation") : std::string("none held out"))
      << '\n'
      << "network   " << start.network << ", " << start.n_parameters << " parameters\n"
      << "training  " << (start.max_seconds > 0.0 ? "about " : "") << start.expected_steps << " steps of "
      << start.batch << " items";
  if (start.n_items > 0) {
    const double passes = static_cast<double>(start.expected_steps) * static_cast<double>(start.batch) /
                          static_cast<double>(start.n_items);
    out << ", " << plain_digits(passes, 2) << " passes over the data";
  }
  if (start.first_step > 0) out << ", after " << start.first_step << " earlier ones";
  if (start.max_seconds > 0.0) out << ", within " << format_seconds(start.max_seconds);
  out << '\n';
  return out.str();
}

void print_end(const TrainResult& result, const std::string& run, double seconds, const EndWords& words) {
  std::ostream& out = log_stream();
  if (result.new_steps == 0 && result.finished) {
    out << run << ": all " << result.steps << " steps are already done, nothing to do"
        << (words.to_continue.empty() ? "" : concat(" (", words.to_continue, ")")) << '\n';
    return;
  }
  out << "trained " << result.new_steps << " steps in " << format_seconds(seconds) << " into " << run << '\n';
  if (!result.validations.empty()) print_quality(result, words);
}

}  // namespace segre
