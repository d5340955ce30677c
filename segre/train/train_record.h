#pragma once  // internal

#include <limits>
#include <nlohmann/json_fwd.hpp>

#include "segre/io/safetensors.h"
#include "segre/model/model.h"

namespace segre {

/// What was recorded before a training's first step.
struct TrainPast {
  double best_loss = std::numeric_limits<double>::infinity();  ///< lowest validation loss
  int64_t n_without_best = 0;                                  ///< validations since then
  bool is_logged = false;  ///< whether the losses up to the first step are in the log
};

/// Where a training leaves what it finds: its log, its checkpoints and pictures of its samples. All ranks call it; only
/// the first one's record writes.
class TrainRecord {
 public:
  virtual ~TrainRecord() = default;

  /// The record of a resumed run, on the rank that has it.
  virtual TrainPast past() = 0;
  /// Adds a line to the log; `line` has "step".
  virtual void log(const nlohmann::json& line) = 0;
  /// Saves the state after `step` of `total` steps.
  virtual void save(int64_t step, int64_t total, const NamedTensors& state) = 0;
  /// Marks the state saved at `step` as the best.
  virtual void mark_best(int64_t step, double validation_loss) = 0;
  /// Draws samples of the model, which has the averaged weights of `step`.
  virtual void draw(int64_t step, const Model& averaged) = 0;
  /// The end, after all that.
  virtual void finish(int64_t total) = 0;
};

}  // namespace segre
