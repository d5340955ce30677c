#include "segre/tasks/detect_outside.h"

#include <algorithm>

#include "segre/core/error.h"
#include "segre/core/memory.h"
#include "segre/sources/relabel.h"
#include "segre/tasks/training_items.h"

namespace segre {
namespace {

// Items spread evenly over a source, since neighbours in a file are often alike.
struct Chosen {
  torch::Tensor rows;    // [N] int64: DataSource::file_row of each
  torch::Tensor labels;  // [N, n] int64
};

Chosen choose_items(const Space& space, const std::string& name, int64_t asked, const std::string& called) {
  const std::string what = called + " " + name;
  const auto source = open_source_for(space, name, what);
  require_complete(*source, what);
  const int64_t there = source->n_items();
  if (there == 0 && asked == 0) fail_input(what, ": is endless; give the number of items");
  const int64_t count = there == 0 ? asked : asked == 0 ? there : std::min(asked, there);
  require_memory(8.0 * static_cast<double>(count) * static_cast<double>(space.n_variables()),
                 concat(what, ": holding ", count, " items"), torch::kCPU);
  const bool all = there == 0 || count == there;
  std::vector<int64_t> rows;
  std::vector<torch::Tensor> labels;
  for (int64_t k = 0; k < count; ++k) {
    const int64_t item = all ? k : k * there / count;
    rows.push_back(source->file_row(item));
    if (!all) labels.push_back(source->rows(item, 1));
  }
  return {torch::tensor(rows, torch::kInt64), all ? source->rows(0, count) : torch::cat(labels)};
}

// The same callbacks, for work of another name.
WorkCallbacks called(const WorkCallbacks& callbacks, const std::string& what) {
  WorkCallbacks out = callbacks;
  if (callbacks.on_progress)
    out.on_progress = [callbacks, what](WorkProgress progress) {
      progress.what = what;
      callbacks.on_progress(progress);
    };
  return out;
}

// What each variable contributes is known for two of the bounds; for the others, that of the simulation-free one.
ScoreOptions by_variable(ScoreOptions options) {
  if (options.method != ScoreMethod::order) {
    options.evaluations = options.method == ScoreMethod::free ? options.evaluations : FreeOptions{}.times;
    options.method = ScoreMethod::free;
  }
  options.per_variable = true;
  return options;
}

// The items with the highest recommended score, the first of their scores.
OddestItems oddest_of(const ExaminedItems& items, const Scorer& by_cell, int64_t count, Ranks& ranks) {
  const auto rows = items.scores.front().values.argsort(/*dim=*/int64_t{0}, /*descending=*/true).slice(0, 0, count);
  ranks.broadcast(rows);  // other processors may round scores differently, but all must share the same items
  const auto labels = items.labels.index_select(0, rows);
  return {items.numbers.index_select(0, rows), labels, -by_cell(labels).all().cells};
}

}  // namespace

OutsideReport detect_outside(const LoadedRun& run, const std::string& name, const DetectOptions& options,
                             const WorkCallbacks& callbacks) {
  const Space& space = run.model.space();
  const auto train = open_training_items(run, options.train, options.train_called);  // calibrates the scores
  const Chosen inside = choose_items(space, options.inside, options.items, options.inside_called);
  const Chosen outside = choose_items(space, options.outside, options.items, options.outside_called);
  const int64_t n_calibration =
      train->n_items() == 0 ? options.calibration : std::min(options.calibration, train->n_items());
  const auto calibration = train->items({options.score.seed, Purpose::calibration_rows}, 0, n_calibration);

  const Scorer bound(run, options.score);
  const OutsideDetector scores(space, count_training_labels(*train), calibration,
                               -bound(calibration, called(callbacks, "calibrate")).all().log_p);
  std::string bound_name;
  const auto score = [&](const std::string& source, const char* what, const Chosen& items) -> ExaminedItems {
    const ScoredData scored = bound(items.labels, called(callbacks, what));
    bound_name = scored.scores.describe();
    const ItemScores found = scored.all();
    const auto nats = -found.log_p;
    return {source, items.rows, items.labels, nats, total_error(found), scores(items.labels, nats)};
  };
  OutsideReport report{space,
                       name,
                       score(options.inside, "inside", inside),
                       score(options.outside, "outside", outside),
                       {},
                       scores.how_recommended(),
                       bound_name};
  report.results = compare(report.inside.scores, report.outside.scores);
  const Scorer by_cell(run, by_variable(options.score));
  constexpr int64_t kShown = 8;
  const int64_t shown = std::min({kShown, inside.labels.size(0), outside.labels.size(0)});
  report.oddest_inside = oddest_of(report.inside, by_cell, shown, *run.ranks);
  report.oddest_outside = oddest_of(report.outside, by_cell, shown, *run.ranks);
  return report;
}

}  // namespace segre
