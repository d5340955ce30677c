#pragma once  // internal

#include "segre/kernels/path_kernels.h"
#include "segre/path/state.h"

namespace segre {

/// What the kernels read.
inline kernels::KnownRows known_rows(const Known& known) {
  kernels::KnownRows rows;
  if (known.labels.defined()) rows.marks = known.labels.contiguous();
  if (known.soft.defined()) rows.soft = known.soft.contiguous();
  return rows;
}

}  // namespace segre
