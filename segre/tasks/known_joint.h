#pragma once  // internal

#include "segre/data/source.h"
#include "segre/runs/load_run.h"

namespace segre {

/// The source of the known distribution that a run was trained on, if it is cheap to open and unchanged; otherwise
/// nullptr. Opens no other data, which may be large or gone.
std::unique_ptr<DataSource> known_joint(const LoadedRun& run);

}  // namespace segre
