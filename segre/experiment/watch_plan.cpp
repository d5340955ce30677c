#include "segre/experiment/watch_plan.h"

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

int64_t picture_evaluations(const Experiment& experiment, const Space& space) {
  return space.is(PartKind::image) ? experiment.watch.grid * (experiment.sample.steps + 1) : 0;
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
