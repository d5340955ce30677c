#pragma once  // internal

#include <functional>

#include "segre/data/source.h"

namespace segre {

/// Whether label k means the same for every variable: images and sequences with one label count.
bool shares_labels(const Space& space);

/// How often each variable has each label in labels [N, n] int64, not counting unknown ones: [S] int64. InputError as
/// check_labels.
torch::Tensor count_labels(const Space& space, const torch::Tensor& labels);

/// At most `most` items of a source in parts of at most `at_once`: all of them, or a random choice from the whole
/// source, since files are often sorted; of an endless source, the first. Calls fn(labels [B, n]).
void for_some_items(const DataSource& source, int64_t most, int64_t at_once,
                    const std::function<void(const torch::Tensor& labels)>& fn);

/// How often each variable has each label in at most `most` items of a source.
torch::Tensor count_labels(const DataSource& source, int64_t most);

/// The sum over the variables of each label's entry in `table` [S]; unknown labels have none: labels [N, n] -> [N].
torch::Tensor sum_of_entries(const Space& space, const torch::Tensor& table, const torch::Tensor& labels);

/// What is added to every count of a label, so that none is impossible.
inline constexpr double kAddedCount = 0.5;

/// -log of each label's share in the training data, with half a count added to each so that none is impossible:
/// counts [S] int64 (count_labels) -> [S] float64.
torch::Tensor label_nats(const Space& space, const torch::Tensor& counts);

/// The baseline of independent columns: -log p of labels [N, n] if each variable were on its own, with its label_nats
/// -> [N] float64. Unknown labels count nothing.
torch::Tensor independent_nats(const Space& space, const torch::Tensor& counts, const torch::Tensor& labels);

/// The same if the columns were on their own, not the variables: those of a column of numbers belong together. Counts
/// at most `most` items of the source; labels [N, n] of its space -> [N] float64.
torch::Tensor independent_column_nats(const DataSource& source, int64_t most, const torch::Tensor& labels);

}  // namespace segre
