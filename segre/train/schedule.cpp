#include "segre/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace segre {

double learning_rate(const ScheduleOptions& options, int64_t step, int64_t n_steps) {
  // A warm-up that does not fit would end the training while the rate is still rising.
  const int64_t warmup = options.warmup < n_steps ? options.warmup : n_steps / 10;
  if (step < warmup) return options.lr * static_cast<double>(step + 1) / static_cast<double>(warmup);
  if (options.kind == ScheduleKind::constant) return options.lr;
  const auto past = static_cast<double>(step - warmup);
  const auto all = static_cast<double>(std::max<int64_t>(1, n_steps - warmup));
  return options.lr * 0.5 * (1.0 + std::cos(std::numbers::pi * std::min(1.0, past / all)));
}

}  // namespace segre
