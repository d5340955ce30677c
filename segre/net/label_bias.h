#pragma once  // internal

#include "segre/data/source.h"

namespace segre {

/// Logarithms of the label frequencies of a source, with one more count spread over the labels of each variable: [S],
/// or [c] for all variables together if `shared`. A message to start from: without evidence it is the best that
/// independent variables can do. Counts at most some hundred thousand items.
torch::Tensor log_frequencies(const DataSource& source, bool shared);

}  // namespace segre
