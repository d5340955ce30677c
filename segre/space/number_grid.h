#pragma once  // internal

#include "segre/space/bins.h"

namespace segre {

/// The distance between neighbouring values that a column can have, dates in seconds; 0 if they may be arbitrarily
/// close.
double grid_step(const Bins& bins);

/// The value on this grid that is nearest to a number, within the range of the data.
double nearest_on_grid(const Bins& bins, double value);

}  // namespace segre
