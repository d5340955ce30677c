#pragma once  // internal

#include "segre/tasks/complete.h"

namespace segre {

/// What to find out about items.
struct CompletionWanted {
  int64_t draws = 1;           ///< completions of each item; with 0, the most likely labels instead
  bool labels = true;          ///< whether completed items are wanted at all
  bool probabilities = false;  ///< also the marginals
};

/// A batch of completed items.
struct CompletedItems {
  int64_t first;           ///< the number of the first one
  torch::Tensor known{};   ///< [B, n] int64: what was known of them, kUnknown elsewhere
  torch::Tensor labels{};  ///< [B, draws, n] int64, [B, 1, n] with the most likely labels; undefined if not wanted
  torch::Tensor probabilities{};  ///< [B, S] float64, see Completer::probabilities; undefined if not wanted
};

/// Completes items in memory: labels [N, n] int64 with kUnknown for cells to be filled in, and log-likelihoods [N, S]
/// of all labels if `soft` is defined. Calls `use` with batch after batch, in order. Several ranks share each batch;
/// rank 0 alone calls `use`.
void complete_items(const Completer& completer, const torch::Tensor& labels, const torch::Tensor& soft,
                    const CompletionWanted& wanted, const std::function<void(const CompletedItems&)>& use,
                    const WorkCallbacks& callbacks = {});

/// How many items complete_round should get at once, over all ranks.
int64_t items_per_round(const Completer& completer);

/// Completes the next items, number `first` and after it, for every rank; all ranks pass the same. `first` is a
/// multiple of items_per_round.
CompletedItems complete_round(const Completer& completer, const torch::Tensor& labels, const torch::Tensor& soft,
                              int64_t first, const CompletionWanted& wanted, const WorkCallbacks& callbacks = {});

/// Log-likelihoods of every label of the items in these rows of a file, which are in ascending order: of all rows, [N,
/// S] or, in a uniform space, [N, n, c] or the shape of an item and c -> of the items, [rows.size(), S]. InputError,
/// starting with `what`, for another shape, too few rows or a NaN.
torch::Tensor check_evidence(const Space& space, const torch::Tensor& soft, const std::vector<int64_t>& rows,
                             const std::string& what);

}  // namespace segre
