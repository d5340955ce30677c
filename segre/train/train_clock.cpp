#include "segre/train/train_clock.h"

#include <algorithm>

#include "segre/core/clock.h"

namespace segre {
namespace {

constexpr double kBetween = 0.1;    // seconds between agreements: an agreement takes a thousandth of that
constexpr int64_t kMostSteps = 64;  // between agreements

}  // namespace

AgreedClock::AgreedClock(std::shared_ptr<Ranks> ranks, std::function<bool()> stop)
    : ranks_(std::move(ranks)), asked_(std::move(stop)) {
  agree();
}

void AgreedClock::agree() {
  if (!ranks_->are_many()) return;
  const auto votes = torch::tensor({ranks_->is_first() ? now_seconds() : 0.0, asked_() ? 1.0 : 0.0}, torch::kFloat64);
  ranks_->sum(votes);
  now_ = votes[0].item<double>();
  stop_ = votes[1].item<double>() > 0.0;
}

void AgreedClock::agree_at(int64_t step) {
  if (!ranks_->are_many() || step < next_step_) return;
  const double before = now_;
  agree();
  const double pace = (now_ - before) / static_cast<double>(std::max<int64_t>(1, step - last_step_));
  last_step_ = step;
  next_step_ = step + std::clamp<int64_t>(static_cast<int64_t>(kBetween / std::max(1e-9, pace)), 1, kMostSteps);
}

double AgreedClock::now() const { return ranks_->are_many() ? now_ : now_seconds(); }

bool AgreedClock::stop() const { return ranks_->are_many() ? stop_ : asked_(); }

}  // namespace segre
