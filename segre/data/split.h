#pragma once

#include <utility>

#include "segre/data/source.h"

namespace segre {

/// `count` of n rows, chosen at random but always the same: [count] int64, ascending.
torch::Tensor chosen_rows(int64_t n, int64_t count);

/// At most `most` items of a source, always the same: chosen_rows if it has more, since files are often sorted and
/// their first rows similar; the first ones of an endless source. [count, n] int64.
torch::Tensor chosen_items(const DataSource& source, int64_t most);

/// Splits the chosen_rows off a dataset: {the rest, the chosen rows}.
std::pair<Dataset, Dataset> split_off(const Dataset& dataset, int64_t count);

}  // namespace segre
