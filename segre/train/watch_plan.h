#pragma once  // internal

#include "segre/config/schema.h"

namespace segre {

/// Monitoring of a training.
struct WatchOptions {
  int64_t every = 0;           ///< steps between validations; 0: at most twenty validations, taking little of the time
  int64_t items = 512;         ///< held-out items per validation
  int64_t evaluations = 0;     ///< of the network per validation; 0: as many as the training's length allows
  int64_t grid = 16;           ///< images in the pictures of samples drawn during training; 0: none
  int64_t keep = 2;            ///< latest checkpoints kept, in addition to the best
  double save_seconds = 30.0;  ///< time between checkpoints
  int64_t patience = 0;        ///< validations without a new best after which training ends; 0: never
  bool use_best = false;       ///< whether commands use the best checkpoint by default, not the last
  bool tensorboard = false;    ///< write TensorBoard event files too
};

/// Declares the keys watch.*.
void declare_watch_keys(ConfigSchema& schema, WatchOptions& options);

/// Share of a training's time that validations, pictures and checkpoints may take.
inline constexpr double kWatchShare = 0.05;

/// How often and how thoroughly to validate a training.
struct WatchPlan {
  int64_t validations;  ///< evenly spread, the last one at the end
  int64_t evaluations;  ///< of the network per validation
  bool pictures;        ///< whether samples are drawn during training, not only at the end
};

/// The plan for `steps` steps of `batch` items; stays within kWatchShare, except for a minimum of validations.
/// `picture` is TrainLength::picture.
WatchPlan plan_watch(int64_t steps, int64_t batch, int64_t picture);

}  // namespace segre
