#pragma once

#include <ostream>

#include "segre/likelihood/scores.h"
#include "segre/tasks/complete_items.h"

namespace segre {

/// How good predictions of numbers are.
struct NumberQuality {
  Measured absolute_error{};   ///< mean distance of the median from the truth
  double squared_error = 0.0;  ///< root of the mean square of the mean's
  Measured covered{};          ///< share of truths from q05 to q95: 0.9 if calibrated
};

/// How good predictions are, over the rows whose truth is known.
struct PredictionQuality {
  int64_t n_rows = 0;                      ///< predicted
  int64_t n_truth = 0;                     ///< of these, with a known truth
  std::optional<NumberQuality> numbers{};  ///< of a measured column, instead of what follows
  Measured accuracy{};                     ///< share of right predictions
  Measured log_loss{};                     ///< mean -log of the truth's probability, nats
  /// Predictions grouped by their probability: how many, the mean probability, and the share of right ones. Calibrated
  /// ones have the last two equal.
  struct Group {
    int64_t count;
    double probability;
    Measured right;
  };
  std::vector<Group> groups{};
  /// Mean distance between the two over the groups, weighted by their counts.
  double calibration_error = 0.0;

  /// A few readable lines.
  std::string describe() const;
};

/// Which column to predict, and from what.
struct PredictRequest {
  std::string column;
  /// Holes in the other columns are what training read them as, where it had holes: a label, which may tell something.
  /// Otherwise they are unknown.
  bool holes_as_trained = true;
  Condition condition{};          ///< what holds for all rows besides; not about the column itself
  std::string called = "column";  ///< the user's option for `column`, for messages
};

/// InputError, starting with `what`, unless a source is csv: and the model one of tables.
void require_table(const Space& space, const SourceName& name, const std::string& what);

/// The variable that a request names. InputError, starting with its `called`, if it is none, or more than one.
int64_t predicted_variable(const Space& space, const PredictRequest& request);

/// How to complete rows in order to predict: every column but that one is taken from them.
CompleteOptions options_of(const PredictRequest& request, const Space& space, const SampleOptions& sample);

/// Predictions for a batch of rows.
struct PredictedItems {
  std::vector<int64_t> rows;     ///< ItemBatch::rows
  torch::Tensor probabilities;   ///< [B, c] float64: of the labels of the column
  torch::Tensor best;            ///< [B] int64: the most likely one
  torch::Tensor truth;           ///< [B] int64: the label that the rows have, kUnknown if they do not
  torch::Tensor numbers{};       ///< [B, 6] float64: kNumberSummary of a measured column; else undefined
  torch::Tensor true_numbers{};  ///< [B] float64: its values in the rows, NaN where unknown; else undefined
};

/// Predictions as a result.
struct Predicted {
  Space space;
  int64_t variable;                            ///< the one predicted
  PredictedItems items;                        ///< all of them; of several ranks rank 0 alone has them
  PredictionQuality quality;                   ///< of those whose truth is known
  std::optional<ConditionReport> condition{};  ///< of the request, if it states one
  std::vector<std::string> notes{};            ///< what the caller should know about the request, each once
};

/// Predicts a variable for items, wherever they come from, with the completer that options_of describes. Calls `use`
/// with batch after batch, in order, on rank 0 alone, and returns how good they are.
PredictionQuality predict_items(const Completer& completer, int64_t variable, ItemStream& items,
                                const std::function<void(const PredictedItems&)>& use,
                                const WorkCallbacks& callbacks = {});

/// Whether the holes of a table are unknown, whatever training read them as: missing=unknown.
bool holes_are_unknown(const SourceName& name);

/// A predicted number or date as the data would write it, with a digit more.
std::string predicted_text(const Bins& bins, double value);

/// Writes predictions for the rows of `csv:FILE`: row,label,probability, and the truth and its probability if the file
/// has the column, which may be missing. Of a measured column: row, kNumberSummary, and the truth. `completer` is that
/// of options_of; `what` starts messages.
PredictionQuality predict_csv(const Completer& completer, int64_t variable, const SourceName& name,
                              const std::string& what, std::ostream& out, const WorkCallbacks& callbacks = {});

}  // namespace segre
