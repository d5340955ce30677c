#pragma once  // internal

#include <algorithm>

#include "segre/recipes/experiment.h"
#include "segre/train/pace.h"

namespace segre {

/// How long to measure the pace under a time limit: a small part of it, but long enough to separate items from
/// overhead.
inline double probe_seconds(double limit) { return std::clamp(0.02 * limit, 0.25, 1.0); }

/// Whether the network is counted from the data before the first step (Field::fit), not trained.
bool is_counted(const Experiment& experiment);

/// Network evaluations per picture of samples drawn during training; 0: none are drawn.
int64_t picture_evaluations(const Experiment& experiment, const Space& space);

/// Measures the pace with a few steps on throw-away weights, in about `patience` seconds (at least two steps). Takes
/// items from the source as training would.
Pace measure_pace(const Experiment& experiment, const DataSource& source, torch::Device device, double patience,
                  const CustomField& custom = {});

}  // namespace segre
