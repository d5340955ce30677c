#include "segre/tasks/predict.h"

#include <algorithm>
#include <cmath>
#include <iomanip>

#include "segre/core/error.h"
#include "segre/io/csv.h"
#include "segre/read/csv_items.h"
#include "segre/read/readers.h"
#include "segre/sources/source_kinds.h"
#include "segre/tasks/complete_items.h"
#include "segre/tasks/given.h"

namespace segre {
namespace {

constexpr int64_t kGroups = 10;

Measured mean_of(const std::vector<double>& values) {
  double sum = 0.0;
  double squares = 0.0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  const auto n = static_cast<double>(values.size());
  const double mean = sum / n;
  return {mean, std::sqrt(std::max(0.0, squares / n - mean * mean) / std::max(1.0, n - 1.0))};
}

// Collects predictions whose truth is known.
struct Tally {
  std::vector<double> right;     // 1 or 0
  std::vector<double> surprise;  // -log p of the truth
  std::vector<double> claimed;   // probability of the prediction

  PredictionQuality quality(int64_t n_rows) const {
    PredictionQuality out{.n_rows = n_rows, .n_truth = static_cast<int64_t>(right.size())};
    if (right.empty()) return out;
    out.accuracy = mean_of(right);
    out.log_loss = mean_of(surprise);
    // Groups of equal size, so that every one has enough predictions.
    std::vector<size_t> order(right.size());
    for (size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return claimed[a] < claimed[b]; });
    const size_t n_groups = std::min<size_t>(kGroups, order.size());
    for (size_t g = 0; g < n_groups; ++g) {
      std::vector<double> hits;
      double sum = 0.0;
      for (size_t k = g * order.size() / n_groups; k < (g + 1) * order.size() / n_groups; ++k) {
        hits.push_back(right[order[k]]);
        sum += claimed[order[k]];
      }
      const auto count = static_cast<double>(hits.size());
      out.groups.push_back({static_cast<int64_t>(hits.size()), sum / count, mean_of(hits)});
      out.calibration_error += count / static_cast<double>(order.size()) *
                               std::abs(out.groups.back().probability - out.groups.back().right.value);
    }
    return out;
  }
};

// The next rows of a table, at most `most`: [rows, n] int64, and their numbers in the file.
torch::Tensor read_rows(CsvItems& items, int64_t n, int64_t most, std::vector<int64_t>& numbers) {
  numbers.clear();
  std::vector<int64_t> flat;
  std::vector<int32_t> row;
  while (static_cast<int64_t>(flat.size()) < n * most && items.next(row)) {
    flat.insert(flat.end(), row.begin(), row.end());
    numbers.push_back(items.row());
  }
  return torch::tensor(flat, torch::kInt64).view({-1, n});
}

// Writes predictions and tallies those whose truth is known.
class PredictionWriter {
 public:
  PredictionWriter(std::ostream& out, const Space& space, int64_t target, bool has_truth)
      : out_(out), space_(space), target_(target), has_truth_(has_truth) {
    out_ << "row,label,probability" << (has_truth ? ",truth,truth_probability\n" : "\n") << std::setprecision(6);
  }

  // Probabilities [B, c] and true labels [B], kUnknown if there is none, of rows with these numbers.
  void add(const torch::Tensor& probabilities, const torch::Tensor& truth, const std::vector<int64_t>& rows) {
    const auto best = probabilities.argmax(1);
    for (int64_t k = 0; k < truth.size(0); ++k) {
      const auto label = best[k].item<int64_t>();
      const auto p = probabilities[k];
      out_ << rows[k] << ',' << name(label) << ',' << p[label].item<double>();
      if (has_truth_) add_truth(p, label, truth[k].item<int64_t>());
      out_ << '\n';
    }
  }
  const Tally& tally() const { return tally_; }

 private:
  std::string name(int64_t label) const { return csv_field(space_.label_name(target_, label)); }

  void add_truth(const torch::Tensor& p, int64_t predicted, int64_t truth) {
    if (truth < 0) {
      out_ << ",,";
      return;
    }
    const double told = p[truth].item<double>();
    out_ << ',' << name(truth) << ',' << told;
    tally_.right.push_back(predicted == truth ? 1.0 : 0.0);
    tally_.surprise.push_back(-std::log(told));
    tally_.claimed.push_back(p[predicted].item<double>());
  }

  std::ostream& out_;
  const Space& space_;
  int64_t target_;
  bool has_truth_;
  Tally tally_;
};

}  // namespace

std::string PredictionQuality::describe() const {
  if (n_truth == 0) return concat(n_rows, " rows predicted; the data do not have the truth");
  std::string text =
      concat(n_rows, " rows predicted; of ", n_truth, " with a known truth: accuracy ", std::setprecision(4),
             accuracy.value, " +- ", std::setprecision(2), accuracy.error, ", log loss ", std::setprecision(4),
             log_loss.value, " +- ", std::setprecision(2), log_loss.error, " nats, calibration error ",
             std::setprecision(3), calibration_error, "\n     rows  probability  share right");
  for (const Group& group : groups)
    text += concat("\n", std::setw(9), group.count, std::fixed, std::setprecision(3), std::setw(13), group.probability,
                   std::setw(13), group.right.value, " +- ", group.right.error);
  return text;
}

PredictionQuality predict_column(const LoadedRun& run, const SourceName& name, const std::string& what,
                                 const std::string& column, const std::string& option, std::ostream& out,
                                 const WorkCallbacks& callbacks) {
  const Space& space = run.model.space();
  if (!space.is(PartKind::columns) || name.kind() != "csv")
    fail_input(what, ": predictions are made for tables, csv:FILE, by models of tables");
  require_known_options(name);
  const auto variable = parse_variables(space, column, option).nonzero();
  if (variable.size(0) != 1) fail_input(option, " ", column, ": expected one column");
  const auto target = variable[0][0].item<int64_t>();
  CsvItems items(name, space, what, Unknowns::allow, column);
  note_encoding(name);
  const Completer completer(run, {.sample = run.experiment.sample,
                                  .given = parse_variables(space, column, option).logical_not(),
                                  .holes_as_trained = items.rows().missing() != TableRows::Missing::unknown});
  std::ostream nowhere(nullptr);
  PredictionWriter writer(run.ranks->is_first() ? out : nowhere, space, target, items.field(target) >= 0);
  int64_t done = 0;
  std::vector<int64_t> rows;
  for (;;) {
    const auto labels =
        read_rows(items, space.n_variables(), std::min(items_per_round(completer), name.limit() - done), rows);
    if (labels.size(0) == 0) break;
    const auto p = complete_round(completer, labels, {}, done, {.labels = false, .probabilities = true}).probabilities;
    writer.add(p.narrow(1, space.offset(target), space.n_labels(target)), labels.select(1, target), rows);
    done += labels.size(0);
    callbacks.report({"predicting", done, done});  // how many there are is not known
  }
  items.finish();
  return writer.tally().quality(done);
}

}  // namespace segre
