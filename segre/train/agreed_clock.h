#pragma once  // internal

#include <functional>

#include "segre/ranks/ranks.h"

namespace segre {

/// The time by which a training decides, and whether it is to stop: the same on all ranks, since whoever saves,
/// validates or ends must do so together. A program alone reads its own clock whenever asked; several ranks use that of
/// rank 0 at their last agreement.
class AgreedClock {
 public:
  /// `stop`: whether this rank was asked to end the training.
  AgreedClock(std::shared_ptr<Ranks> ranks, std::function<bool()> stop);

  /// Agrees on the time and on stopping; all ranks must call it.
  void agree();
  /// The same, at this step, if enough time has passed since the last agreement for its cost not to count.
  void agree_at(int64_t step);
  /// Seconds, as now_seconds() of rank 0.
  double now() const;
  /// Whether any rank was asked to stop.
  bool stop() const;
  Ranks& ranks() const { return *ranks_; }

 private:
  std::shared_ptr<Ranks> ranks_;
  std::function<bool()> asked_;
  double now_ = 0.0;
  bool stop_ = false;
  int64_t last_step_ = 0;  // of the last agreement
  int64_t next_step_ = 0;
};

}  // namespace segre
