#pragma once  // internal

#include <optional>

#include "segre/runs/run_log.h"
#include "segre/runs/train_plan.h"
#include "segre/train/train_record.h"

namespace segre {

/// The record of a training in the plan's directory, which is ready to be written to.
class RunRecord final : public TrainRecord {
 public:
  /// After `step` steps. `plan` must outlive this; config.toml has its train.steps as they are when it is written.
  RunRecord(TrainPlan& plan, int64_t step);

  TrainPast past() override;
  void log(const nlohmann::json& line) override;
  void save(int64_t step, int64_t total, const NamedTensors& state) override;
  void mark_best(int64_t step, double validation_loss) override;
  void draw(int64_t step, const Model& averaged) override;
  void finish(int64_t total) override;

 private:
  bool is_first() const { return log_.has_value(); }

  TrainPlan& plan_;
  RunDirectory run_;
  int64_t first_step_;
  std::optional<RunLog> log_;  // of rank 0
};

}  // namespace segre
