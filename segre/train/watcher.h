#pragma once  // internal

#include <optional>
#include <vector>

#include "segre/train/train_record.h"
#include "segre/train/validation.h"

namespace segre {

/// Validates a training on held-out items, if there are any, and remembers when it was best.
class Watcher {
 public:
  /// Training is over after `patience` validations without a new best; 0: never. `independent_nats` is the score of
  /// independent variables on the held-out items; NaN if unknown.
  Watcher(std::optional<Validation> validation, int64_t patience, double independent_nats)
      : validation_(std::move(validation)), patience_(patience), independent_nats_(independent_nats) {}

  /// Continues from what the first rank has recorded; all ranks call it.
  void continue_from(const TrainPast& past, Ranks& ranks);
  /// Whether there are held-out items.
  bool can_validate() const { return validation_.has_value(); }
  /// Validates the averaged weights of a step, on all ranks together; returns whether they are the best so far.
  bool validate(int64_t step, const NamedTensors& averaged, Ranks& ranks);
  /// Whether training has found nothing better for too long.
  bool is_over() const { return patience_ > 0 && n_without_best_ >= patience_; }

  /// The model with the weights of the last validation.
  const Model& model() const { return validation_->model(); }
  /// The validations in this part of the training, in order.
  const std::vector<ValidationPoint>& validations() const { return validations_; }
  /// The nats of the last one; NaN before the first.
  double held_out_nats() const;
  double independent_nats() const { return independent_nats_; }
  /// The last validation as a line of the log.
  nlohmann::json line() const;

  /// The key in that line for the validations since the best one, under a limited patience.
  static constexpr const char* kSinceBest = "validations_since_best";

 private:
  std::optional<Validation> validation_;
  int64_t patience_;
  double independent_nats_;
  double best_loss_ = std::numeric_limits<double>::infinity();
  int64_t n_without_best_ = 0;  // validations since the best one
  std::vector<ValidationPoint> validations_;
};

}  // namespace segre
