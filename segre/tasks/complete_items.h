#pragma once  // internal

#include <optional>

#include "segre/tasks/complete.h"
#include "segre/tasks/item_stream.h"
#include "segre/tasks/number_answers.h"

namespace segre {

/// What to find out about items.
struct CompletionWanted {
  int64_t draws = 1;                  ///< completions of each item; with 0, the best one instead
  Best best = Best::cells;            ///< which that is
  bool labels = true;                 ///< whether completed items are wanted at all
  bool probabilities = false;         ///< also the marginals
  std::optional<Column> summary{};    ///< also kNumberSummary of this measured column
  std::string called = "completing";  ///< the work, for its progress
};

/// A batch of completed items.
struct CompletedItems {
  int64_t first;                                  ///< the number of the first one
  std::vector<int64_t> rows{};                    ///< ItemBatch::rows
  std::vector<std::vector<std::string>> texts{};  ///< ItemBatch::texts
  torch::Tensor data{};                           ///< [B, n] int64: the items as they came
  torch::Tensor known{};          ///< [B, n] int64: what was taken from them as known, kUnknown elsewhere
  torch::Tensor labels{};         ///< [B, draws, n] int64, [B, 1, n] of the best completion; undefined if not wanted
  torch::Tensor probabilities{};  ///< [B, S] float64, see Completer::probabilities; undefined if not wanted
  torch::Tensor numbers{};        ///< [B, n] float64, FilledRows::numbers of the best completion; else undefined
  torch::Tensor summary{};        ///< [B, 6] float64, undefined if not wanted
};

/// What to complete, and how.
struct CompleteRequest {
  CompleteOptions options{};
  CompletionWanted wanted{};
};

/// Completed items as a result.
struct Completed {
  Space space;
  CompleteRequest request;
  CompletedItems items;  ///< all of them, labels as label_type; of several ranks rank 0 alone has them
  std::optional<ConditionReport> condition{};  ///< of the request, if it states one
  std::vector<bool> keeps{};         ///< per variable: whether a label of the data that comes back keeps its text
  std::vector<std::string> notes{};  ///< what the caller should know about the request, each once
};

/// Completes items, wherever they come from: tables row by row, rows in memory, and what predictions are made of. Calls
/// `use` with batch after batch, in order; only what is known of a batch, and what was found for it, is in memory.
/// Several ranks share each batch; all pass the same items, and rank 0 alone calls `use`. Returns their number.
int64_t complete_items(const Completer& completer, ItemStream& items, const CompletionWanted& wanted,
                       const std::function<void(const CompletedItems&)>& use, const WorkCallbacks& callbacks = {});

/// The same, but every rank calls `use`.
int64_t complete_everywhere(const Completer& completer, ItemStream& items, const CompletionWanted& wanted,
                            const std::function<void(const CompletedItems&)>& use, const WorkCallbacks& callbacks = {});

/// How many items a batch has, over all ranks.
int64_t items_per_round(const Completer& completer);

}  // namespace segre
