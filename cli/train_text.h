#pragma once

#include <optional>

#include "segre/core/progress.h"
#include "segre/experiment/train_run.h"

// What `segre train` prints on stderr.

namespace segre::cli {

/// Shows training progress on stderr: a summary at the start, then a bar on a terminal or occasional lines.
class TrainDisplay {
 public:
  /// Update the display; valid while this object lives. SIGINT and SIGTERM save and stop.
  TrainCallbacks callbacks();
  /// Removes the bar.
  void clear() { bar_.reset(); }

 private:
  std::optional<Progress> bar_;
};

/// Prints the data, the held-out items, the network and the length of training.
void print_start(const TrainStart& start);

/// Prints how good the model is compared with simple ones, whether longer training would help, and what to type next.
/// `run` is its directory as typed.
void print_end(const TrainResult& result, const std::string& run, double seconds);

}  // namespace segre::cli
