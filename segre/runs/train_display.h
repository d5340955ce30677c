#pragma once  // internal

#include <optional>

#include "segre/core/progress.h"
#include "segre/runs/train_run.h"

// What is printed about a training on log_stream(), by `segre train` and by programs that embed one.

namespace segre {

/// Shows the progress of a training on log_stream(): a summary at the start, then a bar where lines can be redrawn, or
/// occasional lines.
class TrainDisplay {
 public:
  /// Update the display; valid while this object lives. Signals are left to the program, as by default.
  TrainCallbacks callbacks();
  /// Removes the bar.
  void clear() { bar_.reset(); }

 private:
  std::optional<Progress> bar_;
};

/// What print_end leaves to the caller, whose interface has its own words for it.
struct EndWords {
  std::string best_is_used = "that step is used";                    ///< for an overfitted run with watch.use_best
  std::string best_is_kept = "the best checkpoint is of that step";  ///< for one without
  std::string to_continue{};  ///< how to train a finished run further; empty: not printed
};

/// Prints "recipe    TEXT": why a recipe was chosen, for Request::on_reason.
void print_recipe(const std::string& text);

/// The data, the held-out items, the network and the length of training, in lines.
std::string describe(const TrainStart& start);

/// Prints how good the model is compared with simple ones and whether longer training would help, or that all steps
/// were done before. `run` is its directory as typed; `seconds` is what the training took.
void print_end(const TrainResult& result, const std::string& run, double seconds, const EndWords& words = {});

/// The validation with the lowest loss, if the last one is worse by more than its error: the model overfits since then.
/// Otherwise null.
const ValidationPoint* best_before_the_end(const TrainResult& result);

}  // namespace segre
