#include "segre/runs/train_verdict.h"

#include <algorithm>
#include <cmath>

#include "segre/core/error.h"
#include "segre/core/text.h"

namespace segre {
namespace {

constexpr double kCertain = 2.0;        // standard errors of a difference between two that were named beforehand
constexpr double kCertainOfMany = 3.0;  // and of one that was chosen among many
constexpr double kWorthTheTime = 0.01;  // a gain, as a share of what the model knows
constexpr double kLeastKnown = 0.1;     // nats that this is a share of at least
constexpr double kFewestPasses = 1.0;   // over the data, before a halt in progress means anything
constexpr int kDigitsUnknown = 2;       // of differences whose error is unknown

Measured mean_of(const torch::Tensor& values) {
  const auto n = static_cast<double>(values.numel());
  const double error = n > 1.0 ? std::sqrt(values.var().item<double>() / n) : std::nan("");
  return {values.mean().item<double>(), error};
}

bool are_pairs(const torch::Tensor& a, const torch::Tensor& b) {
  return a.defined() && b.defined() && a.sizes() == b.sizes();
}

// How many nats fewer than independent columns. A value that is not finite: unknown.
Measured lead_of(const TrainResult& result, const ValidationResult& used) {
  if (are_pairs(result.independent_items, used.of_items)) return mean_of(result.independent_items - used.of_items);
  return {result.independent_nats - used.nats, used.nats_error};
}

std::string overfitting(const TrainResult& result, const ValidationPoint& best, const EndWords& words) {
  const bool from_the_start = &best == result.validations.data();
  return concat("held-out items were most likely at step ", best.step, ", ", plain_digits(best.result.nats, 4),
                from_the_start ? " nats, in the first validation: the model overfits from the start: "
                               : " nats; since then the model overfits: ",
                result.uses_best ? words.best_is_used : words.best_is_kept,
                "; more data or a smaller network would help");
}

// What the second half of the training gained.
std::string gaining(const TrainResult& result) {
  const auto& made = result.validations;
  const ValidationPoint& last = made.back();
  const ValidationPoint& half = made[(made.size() - 1) / 2];
  const Measured gain = difference(half.result, last.result);
  if (!std::isfinite(gain.error)) return "";
  const double lead = lead_of(result, last.result).value;
  const double known = std::isfinite(lead) ? std::max(std::abs(lead), kLeastKnown) : std::abs(last.result.nats);
  const double worth = kWorthTheTime * std::min(std::abs(last.result.nats), known);
  if (gain.value > kCertain * gain.error && gain.value > worth)
    return concat("still improving (", plain_digits(gain.value, 2), " nats since step ", half.step,
                  "): longer training would help");
  if (result.passes > 0.0 && result.passes < kFewestPasses)
    return concat("only ", plain_digits(result.passes, 2), " passes over the data: longer training may help");
  if (gain.value + kCertain * gain.error < worth) return "no longer improving: longer training would help little";
  return concat("held-out nats changed by ", with_error({-gain.value, gain.error}, kDigitsUnknown), " since step ",
                half.step, ": too little to be certain that longer training would help");
}

// How many columns or cells there are that could depend on each other.
bool has_dependence(const Space& space) { return space.columns_and_variables().size() > 1; }

std::string compared_with_independent(const TrainResult& result) {
  const Measured lead = lead_of(result, used_validation(result));
  if (!has_dependence(result.space) || !std::isfinite(lead.value) || !std::isfinite(lead.error)) return "";
  const std::string variables = variables_of(result.space);
  if (lead.value > kCertain * lead.error) return "";
  if (lead.value < -kCertain * lead.error)
    return concat("this model is no good: held-out items have ", with_error({-lead.value, lead.error}, kDigitsUnknown),
                  " nats more than with independent ", variables);
  return concat("not certainly better than independent ", variables, " (",
                with_error({std::abs(lead.value), lead.error}, kDigitsUnknown), " nats ",
                lead.value < 0.0 ? "more" : "fewer", "): too little to tell");
}

}  // namespace

std::string variables_of(const Space& space) {
  return space.parts().size() == 1 ? words_of(space.parts().front().kind).variables : "variables";
}

std::string with_error(const Measured& measured, int digits) {
  if (!std::isfinite(measured.error) || measured.error <= 0.0) return plain_digits(measured.value, digits);
  const int after_point = std::clamp(static_cast<int>(1.0 - std::floor(std::log10(measured.error))), 0, 6);
  return concat(fixed(measured.value, after_point), " +- ", fixed(measured.error, after_point));
}

const ValidationResult& used_validation(const TrainResult& result) {
  const auto* best = result.uses_best ? best_before_the_end(result) : nullptr;
  return best != nullptr ? best->result : result.validations.back().result;
}

Measured difference(const ValidationResult& a, const ValidationResult& b) {
  if (are_pairs(a.of_items, b.of_items)) return mean_of(a.of_items - b.of_items);
  return {a.nats - b.nats, std::hypot(a.nats_error, b.nats_error)};
}

const ValidationPoint* best_before_the_end(const TrainResult& result) {
  const auto& made = result.validations;
  if (made.size() < 2) return nullptr;
  const auto best = std::min_element(made.begin(), made.end(),
                                     [](const auto& a, const auto& b) { return a.result.loss < b.result.loss; });
  const Measured loss = difference(made.back().result, best->result);
  return best + 1 != made.end() && loss.value > kCertainOfMany * loss.error ? &*best : nullptr;
}

TrainVerdict judge(const TrainResult& result, const EndWords& words) {
  if (result.validations.empty()) fail("a training without validations cannot be judged");
  TrainVerdict verdict{.progress = {}, .worth = compared_with_independent(result)};
  if (const auto* best = best_before_the_end(result)) {
    verdict.progress = overfitting(result, *best, words);
  } else if (result.validations.size() > 1) {
    verdict.progress = gaining(result);
  }
  return verdict;
}

}  // namespace segre
