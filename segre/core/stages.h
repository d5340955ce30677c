#pragma once  // internal

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "segre/core/work.h"

namespace segre {

/// One count of progress for work in several stages, so that it has one time left, which never starts again.
class Stages {
 public:
  /// `costs`: what each stage is expected to take, in any unit; `what` names the whole work.
  Stages(WorkCallbacks callbacks, std::string what, std::vector<double> costs)
      : callbacks_(std::move(callbacks)), what_(std::move(what)), costs_(std::move(costs)) {
    for (const double cost : costs_) all_ += cost;
  }

  /// Receives the progress of stage k. A stage may find out along the way that it has more or less to do: the count
  /// waits or jumps then, but never goes back. Valid while this object lives.
  std::function<void(int64_t done, int64_t total)> stage(size_t k) {
    double before = 0.0;
    for (size_t j = 0; j < k; ++j) before += costs_[j];
    return [this, before, cost = costs_[k]](int64_t done, int64_t total) {
      const double whole = static_cast<double>(std::max<int64_t>(1, total));
      const double share = std::clamp(static_cast<double>(done) / whole, 0.0, 1.0);
      const double part = (before + cost * share) / all_;
      done_ = std::max(done_, static_cast<int64_t>(std::floor(part * static_cast<double>(kTicks))));
      callbacks_.report({what_, done_, kTicks});
    };
  }

  /// All is done, perhaps sooner than expected.
  void finish() const {
    if (callbacks_.on_progress) callbacks_.on_progress({what_, kTicks, kTicks});
  }

 private:
  static constexpr int64_t kTicks = 1000;
  WorkCallbacks callbacks_;
  std::string what_;
  std::vector<double> costs_;
  double all_ = 0.0;
  int64_t done_ = 0;
};

}  // namespace segre
