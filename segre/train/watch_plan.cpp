#include "segre/train/watch_plan.h"

#include <algorithm>

namespace segre {
namespace {

constexpr double kEvaluationsPerItem = 3.0;  // cost of training on an item: forward, and backward twice as much
constexpr int64_t kMostValidations = 20;
constexpr int64_t kFewestValidations = 2;
constexpr int64_t kUsualEvaluations = 512;
constexpr int64_t kMostEvaluations = 8192;
constexpr int64_t kFewestEvaluations = 64;
constexpr int64_t kPicturesOnTheWay = 4;

}  // namespace

void declare_watch_keys(ConfigSchema& s, WatchOptions& o) {
  s.integer("watch.every", &o.every, {0, 1e12}, Later::free,
            "steps between validations; 0: at most twenty, in a small share of the time");
  s.integer("watch.items", &o.items, {1, 1e6}, Later::fixed, "held-out items per validation");
  s.integer("watch.evaluations", &o.evaluations, {0, 1e9}, Later::free,
            "network evaluations per validation; 0: as many as the training's length allows, at most 8192");
  s.integer("watch.grid", &o.grid, {0, 1024}, Later::free,
            "images in the pictures of samples drawn during training; 0: none");
  s.integer("watch.keep", &o.keep, {1, 1e6}, Later::free, "latest checkpoints kept, in addition to the best");
  s.number("watch.save_seconds", &o.save_seconds, {0, 1e6}, Later::free, "seconds between checkpoints");
  s.integer("watch.patience", &o.patience, {0, 1e6}, Later::free,
            "validations without a new best after which training ends; 0: never");
  s.flag("watch.use_best", &o.use_best, Later::free,
         "commands use the checkpoint with the lowest validation loss by default, not the last");
  s.flag("watch.tensorboard", &o.tensorboard, Later::free, "write TensorBoard event files into RUN/tensorboard");
}

WatchPlan plan_watch(int64_t steps, int64_t batch, int64_t picture) {
  const double allowed = kWatchShare * kEvaluationsPerItem * static_cast<double>(steps) * static_cast<double>(batch);
  const auto left = static_cast<int64_t>(std::min(allowed - static_cast<double>(picture), 1e15));
  const int64_t validations = std::clamp(left / (2 * kFewestEvaluations), kFewestValidations, kMostValidations);
  // Pictures come before more than the usual number of evaluations.
  const int64_t usual = std::clamp(left / validations, kFewestEvaluations, kUsualEvaluations);
  const bool pictures = left >= validations * usual + kPicturesOnTheWay * picture;
  const int64_t rest = left - (pictures ? kPicturesOnTheWay * picture : 0);
  return {validations, std::clamp(rest / validations, kFewestEvaluations, kMostEvaluations), pictures};
}

}  // namespace segre
