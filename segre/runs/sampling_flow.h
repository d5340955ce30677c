#pragma once  // internal

#include "segre/flow/flow.h"
#include "segre/runs/load_run.h"

namespace segre {

/// The flow of a run. With sample.precision = "trained" its network is a copy that computes in the type in which such a
/// machine trains it: for work whose noise is far larger than that of the type.
Flow trained_flow(const LoadedRun& run);

/// The flow of a run as its samplers follow it: the same, but log_marginals are those of the network as it was loaded.
Flow sampling_flow(const LoadedRun& run);

}  // namespace segre
