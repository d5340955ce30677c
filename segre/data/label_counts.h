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

}  // namespace segre
