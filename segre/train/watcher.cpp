#include "segre/train/watcher.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace segre {

void Watcher::continue_from(const TrainPast& past, Ranks& ranks) {
  const auto numbers = torch::tensor({static_cast<double>(past.n_without_best), past.best_loss}, torch::kFloat64);
  ranks.broadcast(numbers);
  n_without_best_ = static_cast<int64_t>(numbers[0].item<double>());
  best_loss_ = numbers[1].item<double>();
}

bool Watcher::validate(int64_t step, const NamedTensors& averaged, Ranks& ranks) {
  const ValidationResult result = (*validation_)(averaged, ranks);
  validations_.push_back({step, result});
  const bool is_best = result.loss < best_loss_;
  if (is_best) best_loss_ = result.loss;
  n_without_best_ = is_best ? 0 : n_without_best_ + 1;
  return is_best;
}

double Watcher::held_out_nats() const {
  return validations_.empty() ? std::numeric_limits<double>::quiet_NaN() : validations_.back().result.nats;
}

nlohmann::json Watcher::line() const {
  const auto& [step, result] = validations_.back();
  nlohmann::json line{{"step", step}, {"validation_loss", result.loss}, {"validation_nats", result.nats}};
  if (std::isfinite(result.nats_error)) line["validation_nats_error"] = result.nats_error;  // unknown for one item
  if (patience_ > 0) line[kSinceBest] = n_without_best_;
  return line;
}

}  // namespace segre
