#include "segre/runs/train_display.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "segre/core/clock.h"
#include "segre/core/error.h"
#include "segre/core/log.h"
#include "segre/core/text.h"
#include "segre/space/densities.h"

namespace segre {
namespace {

constexpr int kDigits = 4;  // of nats

// How likely held-out items are, beside simple models, and whether that still improves.
void print_quality(const TrainResult& result, const EndWords& words) {
  const ValidationResult& used = used_validation(result);
  std::ostream& out = log_stream();
  const int64_t n_items = result.independent_items.defined() ? result.independent_items.size(0) : result.n_held_out;
  // Levels are cut at quantiles of all rows, so the density within them would flatter rows that were held out.
  const auto columns = result.space.columns_and_variables();
  const bool has_levels =
      std::any_of(columns.begin(), columns.end(), [&](const auto& of) { return has_density(result.space, of); });
  out << "held out  " << with_error({used.nats, used.nats_error}, kDigits) << " nats per item (a bound on -log p"
      << (has_levels ? " of labels and levels" : "") << ", over " << n_items << " items)\n";
  out << "baseline  " << plain_digits(result.independent_nats, kDigits) << " if the " << variables_of(result.space)
      << " were independent, " << plain_digits(result.uniform_nats, kDigits) << " if labels were equally likely\n";
  const TrainVerdict verdict = judge(result, words);
  if (!verdict.progress.empty()) out << "progress  " << verdict.progress << '\n';
  if (!verdict.worth.empty()) out << "verdict   " << verdict.worth << '\n';
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
