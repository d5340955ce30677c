#pragma once  // internal

#include "segre/data/source.h"

namespace segre {

/// Whether label k means the same for every variable: images and sequences with one label count.
bool shares_labels(const Space& space);

/// How often each variable has each label in labels [N, n] int64, not counting unknown ones: [S] int64. InputError as
/// check_labels.
torch::Tensor count_labels(const Space& space, const torch::Tensor& labels);

/// The same for the first n_items items of a source.
torch::Tensor count_labels(const DataSource& source, int64_t n_items);

}  // namespace segre
