#pragma once

#include "segre/experiment/run.h"

// What `segre train` says on stderr before its first step and after its last.

namespace segre::cli {

/// The data, what is held out, the network and why it is this one, how long.
void print_start(const TrainStart& start);

/// How good the model is beside simple ones, whether longer training would help, and what to type next. `run` is its
/// directory as typed.
void print_end(const TrainResult& result, const std::string& run, double seconds);

}  // namespace segre::cli
