#pragma once

#include <ostream>

#include "segre/core/work.h"
#include "segre/data/source_name.h"
#include "segre/runs/load_run.h"
#include "segre/tasks/condition.h"

namespace segre {

struct ConditionCases;

/// What completing takes from the data.
struct CompleteOptions {
  SampleOptions sample;
  uint64_t seed = 1;
  double noise = 0.0;     ///< probability that a label in the data was replaced by one drawn uniformly from all
  torch::Tensor given{};  ///< [n] bool: only these variables are taken from the data; undefined: all
  Condition condition{};  ///< what holds for all items besides
  /// Holes of variables taken from the data are what training read them as: the label of missing values, where a
  /// variable has one. Otherwise they are unknown, and filled in.
  bool holes_as_trained = false;
};

/// Fills in what is unknown about items. Threads may share it.
class Completer {
 public:
  /// InputError if the model does not accept known labels, or the options do not make sense. A note if it was not
  /// trained with them, and those of report_condition.
  Completer(const LoadedRun& run, const CompleteOptions& options);
  /// The same with the sampler that these options need, which others may use at the same time.
  Completer(const LoadedRun& run, const CompleteOptions& options, std::shared_ptr<const Sampler> sampler);

  /// What is known of items: labels [B, n] int64 with kUnknown for cells to be filled in, and log-likelihoods [B, S] of
  /// all labels, if there are any. The label of missing values is never an answer.
  Known known_of(const torch::Tensor& labels, const torch::Tensor& soft = {}) const;
  /// Draw number `draw` of items first, first + 1, ...: [B, n] int64. An item's completion depends on what is known of
  /// it, its number, the seed and the draw alone.
  torch::Tensor draw(const Known& known, uint64_t first, int64_t draw) const;
  /// Several draws: [B, draws, n] int64. Draws of few items share the work of one.
  torch::Tensor draws(const Known& known, uint64_t first, int64_t from_draw, int64_t draws) const;
  /// Whether a label in the data carries information on a variable that is unknown, as one with noise does.
  bool sees_unknown(int64_t variable) const;
  /// The marginals p(x_i = j | known): [B, S] float64, corners for known labels. One evaluation per item.
  torch::Tensor probabilities(const Known& known, uint64_t first) const;
  /// The most likely label of every marginal: [B, n] int64.
  torch::Tensor best(const torch::Tensor& probabilities) const;
  const Space& space() const { return sampler_->space(); }
  /// How likely the options' condition is, if they state one.
  const std::optional<ConditionReport>& condition() const { return condition_; }
  /// What it states about values; nullptr for nothing.
  const GivenValues* given_values() const { return options_.condition.values().get(); }
  /// How many items to pass at once to keep all threads, or the GPU, busy: whole blocks of rows_per_block().
  int64_t items_per_call() const;
  int64_t rows_per_block() const { return sampler_->rows_per_block(); }
  /// Those that loaded the run.
  const std::shared_ptr<Ranks>& ranks() const { return ranks_; }

 private:
  ConditionCases cases_of(const Known& known, uint64_t first) const;
  torch::Tensor probabilities_by_cases(const Known& known, uint64_t first) const;

  CompleteOptions options_;
  std::shared_ptr<Ranks> ranks_;
  std::shared_ptr<const Sampler> sampler_;
  std::optional<ConditionReport> condition_;
  torch::Tensor is_given_;  // [n] bool: what the condition states something about, whose holes are unknown
  torch::Tensor missing_;   // [n] int64: the label of missing values or kUnknown; undefined: no variable has one
};

/// What `best` completions are, instead of draws.
enum class Best {
  cells,  ///< each cell on its own: the most likely label, of numbers and dates the median
  row,    ///< a likely row: the most certain cell first, then the others given it
};

/// What to write about completed rows of a table. Of several ranks only rank 0 writes, but all must request the
/// same: a stream of another rank shows that there is one, and is not used.
struct CompleteOutputs {
  int64_t draws = 1;                      ///< completions of each item; with 0, the best one instead
  Best best = Best::cells;                ///< which that is
  std::ostream* out = nullptr;            ///< the completed items, may be nullptr
  std::ostream* probabilities = nullptr;  ///< row,column,label,probability of every unknown cell, may be nullptr
};

/// Where a column's labels came from, each at its first variable: what was taken as known, what the data have, and
/// whether a label of the data that comes back keeps its text.
struct CellOrigin {
  const int64_t* known;
  const int64_t* data;
  bool keeps;
};

/// Whether a completed cell is the one of the data: it was known, or came back the same although it was not.
bool stays(const Column& column, const int64_t* labels, const CellOrigin& origin);

/// Completes a table of any length row by row and writes it with the same header, columns, order and delimiter; columns
/// that the model does not have stay as they are. With draws above 1 a first column `draw` counts them, row by row; if
/// the table has a column of that name, `draw_`. Columns of the model that the table lacks are unknown, and follow its
/// own. Cells of binned columns get a value drawn within the bin, or its middle. Returns the number of rows.
int64_t complete_csv(const Completer& completer, const SourceName& name, const std::string& what,
                     const CompleteOutputs& outputs, uint64_t seed, const WorkCallbacks& callbacks = {});

/// Writes row,column,label,probability for the unknown cells of items [B, n], whose rows [B] have these numbers; before
/// the first ones also the header.
void write_probabilities(std::ostream& out, const Space& space, const torch::Tensor& labels,
                         const torch::Tensor& probabilities, bool with_header, const std::vector<int64_t>& rows);

}  // namespace segre
