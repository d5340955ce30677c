#pragma once  // internal

#include "segre/data/source.h"

namespace segre {

/// The items of a source with a dataset without some of its rows, left_out [K] int64, ascending: as
/// make_dataset_source of the other rows, item for item and draw for draw, but without copying them. Which row an item
/// is follows from the rows left out before it, by binary search. At least one row must be left.
std::unique_ptr<DataSource> make_rest_source(std::shared_ptr<const DataSource> whole, const torch::Tensor& left_out);

}  // namespace segre
