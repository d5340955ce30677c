#pragma once

#include <utility>

#include "segre/data/dataset.h"

namespace segre {

/// Takes `count` items out of a dataset, the same ones every time: {the rest, those}.
std::pair<Dataset, Dataset> split_off(const Dataset& dataset, int64_t count);

}  // namespace segre
