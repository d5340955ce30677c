#include "segre/tasks/predict.h"

#include <algorithm>
#include <cmath>
#include <iomanip>

#include "segre/core/error.h"
#include "segre/io/csv.h"
#include "segre/tasks/given.h"
#include "segre/tasks/table_stream.h"

namespace segre {
namespace {

constexpr int64_t kGroups = 10;
constexpr int64_t kMostPredictedDigits = 14;

// Places in kNumberSummary.
enum : size_t { kMedian = 0, kMean = 1, kLow = 2, kHigh = 5 };

// The column's values in the rows, NaN where they are unknown or no numbers: [B].
torch::Tensor true_numbers(const Bins& bins, const std::vector<std::vector<std::string>>& texts, int64_t variable,
                           int64_t n_rows) {
  auto values = torch::full({n_rows}, NAN, torch::kFloat64);
  for (size_t k = 0; k < texts.size(); ++k)
    if (const auto value = bins.parse(texts[k][static_cast<size_t>(variable)]))
      values[static_cast<int64_t>(k)] = *value;
  return values;
}

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
  std::vector<double> right;                      // 1 or 0
  std::vector<double> surprise;                   // -log p of the truth
  std::vector<double> claimed;                    // probability of the prediction
  std::vector<double> distance, square, covered;  // of numbers

  void add_numbers(const PredictedItems& done) {
    for (int64_t k = 0; k < done.true_numbers.size(0); ++k) {
      const auto truth = done.true_numbers[k].item<double>();
      if (std::isnan(truth)) continue;
      const auto at = [&](size_t which) { return done.numbers[k][static_cast<int64_t>(which)].item<double>(); };
      distance.push_back(std::abs(at(kMedian) - truth));
      square.push_back((at(kMean) - truth) * (at(kMean) - truth));
      covered.push_back(truth >= at(kLow) && truth <= at(kHigh) ? 1.0 : 0.0);
    }
  }

  void add(const PredictedItems& done) {
    if (done.numbers.defined()) return add_numbers(done);
    for (int64_t k = 0; k < done.truth.size(0); ++k) {
      const auto truth = done.truth[k].item<int64_t>();
      if (truth < 0) continue;
      const auto predicted = done.best[k].item<int64_t>();
      const auto p = done.probabilities[k];
      right.push_back(predicted == truth ? 1.0 : 0.0);
      surprise.push_back(-std::log(p[truth].item<double>()));
      claimed.push_back(p[predicted].item<double>());
    }
  }

  PredictionQuality quality(int64_t n_rows) const {
    PredictionQuality out{.n_rows = n_rows, .n_truth = static_cast<int64_t>(right.size() + distance.size())};
    if (!distance.empty()) out.numbers = {mean_of(distance), std::sqrt(mean_of(square).value), mean_of(covered)};
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

// Writes predictions, one line each.
class PredictionWriter {
 public:
  PredictionWriter(std::ostream& out, const Space& space, int64_t target, bool has_truth)
      : out_(out), space_(space), target_(target), has_truth_(has_truth) {}

  void write_header() const {
    if (const Bins* bins = space_.bins(target_); bins != nullptr && bins->is_measured()) {
      out_ << "row";
      for (const char* const name : kNumberSummary) out_ << ',' << name;
      out_ << (has_truth_ ? ",truth\n" : "\n");
      return;
    }
    out_ << "row,label,probability" << (has_truth_ ? ",truth,truth_probability\n" : "\n") << std::setprecision(6);
  }

  void write(const PredictedItems& done) const {
    if (done.numbers.defined()) return write_numbers(done);
    for (size_t k = 0; k < done.rows.size(); ++k) {
      const auto row = static_cast<int64_t>(k);
      const auto label = done.best[row].item<int64_t>();
      const auto p = done.probabilities[row];
      out_ << done.rows[k] << ',' << name(label) << ',' << p[label].item<double>();
      if (has_truth_) write_truth(p, done.truth[row].item<int64_t>());
      out_ << '\n';
    }
  }

 private:
  void write_numbers(const PredictedItems& done) const {
    const Bins& bins = *space_.bins(target_);
    for (size_t k = 0; k < done.rows.size(); ++k) {
      const auto row = static_cast<int64_t>(k);
      out_ << done.rows[k];
      for (int64_t which = 0; which < done.numbers.size(1); ++which)
        out_ << ',' << predicted_text(bins, done.numbers[row][which].item<double>());
      const auto truth = done.true_numbers[row].item<double>();
      if (has_truth_) out_ << ',' << (std::isnan(truth) ? "" : bins.text_of(truth));
      out_ << '\n';
    }
  }

  std::string name(int64_t label) const { return csv_field(space_.label_name(target_, label)); }

  void write_truth(const torch::Tensor& p, int64_t truth) const {
    if (truth < 0) {
      out_ << ",,";
    } else {
      out_ << ',' << name(truth) << ',' << p[truth].item<double>();
    }
  }

  std::ostream& out_;
  const Space& space_;
  int64_t target_;
  bool has_truth_;
};

}  // namespace

std::string predicted_text(const Bins& bins, double value) {
  Bins finer = bins;
  if (finer.decimals != Bins::kAnyDecimals && finer.decimals < kMostPredictedDigits) ++finer.decimals;
  return finer.text_of(value);
}

std::string PredictionQuality::describe() const {
  if (n_truth == 0) return concat(n_rows, " rows predicted; the data do not have the truth");
  if (numbers)
    return concat(n_rows, " rows predicted; of ", n_truth, " with a known truth: mean absolute error of the median ",
                  std::setprecision(4), numbers->absolute_error.value, " +- ", std::setprecision(2),
                  numbers->absolute_error.error, ", root mean square error of the mean ", std::setprecision(4),
                  numbers->squared_error, "; ", std::setprecision(3), 100.0 * numbers->covered.value,
                  "% lie from q05 to q95 (90% if calibrated)");
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

void require_table(const Space& space, const SourceName& name, const std::string& what) {
  if (!space.is(PartKind::columns) || name.kind() != "csv")
    fail_input(what, ": predictions are made for tables, csv:FILE, by models of tables");
}

int64_t predicted_variable(const Space& space, const PredictRequest& request) {
  const auto variables = parse_variables(space, request.column, request.called).nonzero();
  const auto first = variables[0][0].item<int64_t>();
  for (const Column& column : space.columns_and_variables())
    if (column.first == first && column.n_variables == variables.size(0)) return first;
  fail_input(request.called, " ", request.column, ": expected one column");
}

CompleteOptions options_of(const PredictRequest& request, const Space& space, const SampleOptions& sample) {
  if (request.condition.concerns(predicted_variable(space, request)))
    fail_input("given ", request.condition.text(), ": states something about ", request.column,
               ", the column to predict");
  return {.sample = sample,
          .given = parse_variables(space, request.column, request.called).logical_not(),
          .condition = request.condition,
          .holes_as_trained = request.holes_as_trained};
}

PredictionQuality predict_items(const Completer& completer, int64_t variable, ItemStream& items,
                                const std::function<void(const PredictedItems&)>& use, const WorkCallbacks& callbacks) {
  const Space& space = completer.space();
  const Bins* bins = space.bins(variable);
  Tally tally;
  const auto predict = [&](const CompletedItems& done) {
    const auto p = done.probabilities.narrow(1, space.offset(variable), space.n_labels(variable));
    PredictedItems predicted{
        .rows = done.rows, .probabilities = p, .best = p.argmax(1), .truth = done.data.select(1, variable)};
    if (bins != nullptr && bins->is_measured()) {
      predicted.numbers = done.summary;
      predicted.true_numbers = true_numbers(*bins, done.texts, variable, p.size(0));
    }
    tally.add(predicted);
    if (completer.ranks()->is_first()) use(predicted);
  };
  CompletionWanted wanted{.labels = false, .probabilities = true, .called = "predicting"};
  if (bins != nullptr && bins->is_measured()) wanted.summary = space.column_of(variable);
  return tally.quality(complete_everywhere(completer, items, wanted, predict, callbacks));
}

bool holes_are_unknown(const SourceName& name) { return name.word("missing", "label") == "unknown"; }

PredictionQuality predict_csv(const Completer& completer, int64_t variable, const SourceName& name,
                              const std::string& what, std::ostream& out, const WorkCallbacks& callbacks) {
  const Space& space = completer.space();
  const Bins* bins = space.bins(variable);
  TableStream table(name, space, what, /*keeps_fields=*/bins != nullptr && bins->is_measured(),
                    space.variable_name(variable));
  std::ostream nowhere(nullptr);
  const PredictionWriter writer(completer.ranks()->is_first() ? out : nowhere, space, variable,
                                /*has_truth=*/table.field(variable) >= 0);
  writer.write_header();
  return predict_items(
      completer, variable, table, [&](const PredictedItems& done) { writer.write(done); }, callbacks);
}

}  // namespace segre
