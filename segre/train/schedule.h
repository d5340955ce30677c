#pragma once  // internal

#include <cstdint>

namespace segre {

/// How the learning rate changes after warm-up.
enum class ScheduleKind { constant, cosine };

struct ScheduleOptions {
  double lr = 2e-3;                          ///< peak learning rate
  int64_t warmup = 0;                        ///< steps of linear warm-up; if not fewer than all steps, a tenth of those
  ScheduleKind kind = ScheduleKind::cosine;  ///< cosine: falls towards 0, which it would reach one step after the last
};

/// Learning rate of step 0 ... n_steps - 1: a pure function, so a resumed run continues it exactly.
double learning_rate(const ScheduleOptions& options, int64_t step, int64_t n_steps);

}  // namespace segre
