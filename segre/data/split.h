#pragma once

#include <utility>

#include "segre/core/rng.h"
#include "segre/data/source.h"

namespace segre {

/// `count` of n rows, chosen at random but always the same: [count] int64, ascending.
torch::Tensor chosen_rows(int64_t n, int64_t count);

/// At most `most` items of a source, always the same: chosen_rows if it has more, since files are often sorted and
/// their first rows similar; the first ones of an endless source. [count, n] int64.
torch::Tensor chosen_items(const DataSource& source, int64_t most);

/// Splits the chosen_rows off a dataset: {the rest, the chosen rows}.
std::pair<Dataset, Dataset> split_off(const Dataset& dataset, int64_t count);

/// The item at `position` in [0, n) of shuffle number `epoch`: a permutation that is computed, not stored. A Feistel
/// network on the smallest even number of bits that holds n is repeated until the value falls below n (at most four
/// times on average), so any position of any epoch is available at once and a resumed run needs no saved order.
int64_t shuffled(const RandomStream& random, uint64_t epoch, int64_t position, int64_t n);

/// The items of a source with a dataset without some of its rows, left_out [K] int64, ascending: as
/// make_dataset_source of the other rows, item for item and draw for draw, but without copying them. Which row an item
/// is follows from the rows left out before it, by binary search. At least one row must be left.
std::unique_ptr<DataSource> make_rest_source(std::shared_ptr<const DataSource> whole, const torch::Tensor& left_out);

}  // namespace segre
