#include "segre/train/train_callbacks.h"

namespace segre {

StopRequest::StopRequest(const TrainCallbacks& callbacks) : callbacks_(callbacks) {
  if (callbacks.signals) guard_.emplace();
}

bool StopRequest::operator()() const {
  return (guard_ && InterruptGuard::requested()) || (callbacks_.stop && callbacks_.stop());
}

}  // namespace segre
