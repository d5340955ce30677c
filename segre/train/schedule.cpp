#include "segre/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace segre {

double learning_rate(const ScheduleOptions& options, int64_t step, int64_t n_steps) {
  if (step < options.warmup) return options.lr * static_cast<double>(step + 1) / static_cast<double>(options.warmup);
  if (options.kind == ScheduleKind::constant) return options.lr;
  const auto past = static_cast<double>(step - options.warmup);
  const auto all = static_cast<double>(std::max<int64_t>(1, n_steps - options.warmup));
  return options.lr * 0.5 * (1.0 + std::cos(std::numbers::pi * std::min(1.0, past / all)));
}

}  // namespace segre
