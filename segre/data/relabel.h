#pragma once

#include <string>

#include "segre/data/source.h"

namespace segre {

/// The labels [B, n] of a source in the numbering of another space, as label_type(space). A table numbers the labels
/// that occur in it, so a small one may lack some of the model's: they are matched by name. InputError, starting with
/// `what` (the source's name), where the shapes, the columns or their order differ, or a label occurs that `space` does
/// not have.
torch::Tensor relabel(const Space& space, const Space& from, const torch::Tensor& labels, const std::string& what);

/// The first `most` items of a source relabelled, all of them where it has fewer or `most` is 0: [count, n] int64.
/// InputError where `most` is 0 and there is no end to them.
torch::Tensor first_items(const Space& space, const DataSource& source, int64_t most, const std::string& what);

}  // namespace segre
