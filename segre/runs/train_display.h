#pragma once  // internal

#include <optional>

#include "segre/core/progress.h"
#include "segre/runs/train_verdict.h"

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

/// Prints "recipe    TEXT": why a recipe was chosen, for Request::on_reason.
void print_recipe(const std::string& text);

/// The data, the held-out items, the network and the length of training, in lines.
std::string describe(const TrainStart& start);

/// Prints how good the model is compared with simple ones and whether longer training would help, or that all steps
/// were done before. `run` is its directory as typed; `seconds` is what the training took.
void print_end(const TrainResult& result, const std::string& run, double seconds, const EndWords& words = {});

}  // namespace segre
