#pragma once

#include <utility>

#include "segre/data/source.h"

namespace segre {

/// `count` of n rows, the same ones every time, spread over all of them as chance has it: [count] int64, ascending.
torch::Tensor chosen_rows(int64_t n, int64_t count);

/// At most `most` items of a source, the same ones every time: chosen_rows where it has more, since files are often
/// sorted and their first rows alike; the first ones of a source without end. [count, n] int64.
torch::Tensor chosen_items(const DataSource& source, int64_t most);

/// Takes the chosen_rows out of a dataset: {the rest, those}.
std::pair<Dataset, Dataset> split_off(const Dataset& dataset, int64_t count);

}  // namespace segre
