#pragma once

#include <cstdint>

namespace segre {

/// How the learning rate moves after warm-up.
enum class ScheduleKind { constant, cosine };

struct ScheduleOptions {
  double lr = 2e-3;                          ///< learning rate at its highest
  int64_t warmup = 0;                        ///< steps of linear rise to it; a tenth of all steps if it is not shorter
  ScheduleKind kind = ScheduleKind::cosine;  ///< cosine: falls towards 0, which it would reach one step after the last
};

/// Learning rate of step 0 ... n_steps - 1: a pure function, so a resumed run continues it exactly.
double learning_rate(const ScheduleOptions& options, int64_t step, int64_t n_steps);

}  // namespace segre
