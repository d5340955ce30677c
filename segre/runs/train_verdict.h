#pragma once  // internal

#include "segre/likelihood/scores.h"
#include "segre/runs/train_run.h"

// What the validations of a training show, judged by standard errors: what they do not show is not claimed.

namespace segre {

/// What a verdict leaves to the caller, whose interface has its own words for it.
struct EndWords {
  std::string best_is_used = "that step is used";                    ///< for an overfitted run with watch.use_best
  std::string best_is_kept = "the best checkpoint is of that step";  ///< for one without
  std::string to_continue{};  ///< how to train a finished run further; empty: not printed
};

/// a - b in nats per held-out item, with its standard error: that of the differences item by item if both know their
/// items, else both errors together.
Measured difference(const ValidationResult& a, const ValidationResult& b);

/// The validation with the lowest loss, if the last one is worse by more than its error: the model overfits since then.
/// Otherwise null. The best of up to twenty is chosen for being low: three standard errors are as rare among them as
/// two are for one.
const ValidationPoint* best_before_the_end(const TrainResult& result);

/// The validation of the weights that will be used. There must be one.
const ValidationResult& used_validation(const TrainResult& result);

/// "columns", "pixels": what the variables of a space are.
std::string variables_of(const Space& space);

/// "0.60 +- 0.12", with as many digits as the error justifies; with so many in all if it is unknown.
std::string with_error(const Measured& measured, int digits);

/// Sentences, each empty where there is nothing to report.
struct TrainVerdict {
  std::string progress;  ///< whether longer training would help, or the model overfits; or that it is not certain
  std::string worth;     ///< that the model is no better than independent variables, or worse
};

/// Judges the weights that will be used. There must be validations.
TrainVerdict judge(const TrainResult& result, const EndWords& words = {});

}  // namespace segre
