#pragma once

#include "segre/experiment/run.h"
#include "tests/support/threads.h"

namespace segre::test {

/// An experiment whose steps take no time.
inline Experiment tiny_experiment() {
  Experiment e;
  e.data = "coupled";
  e.net.kind = NetKind::mlp;
  e.net.hidden = {8};
  e.net.time_features = 2;
  e.train.batch = 32;
  e.train.steps = 12;
  return e;
}

/// Trains it into `path`, on one thread.
inline std::filesystem::path trained(const std::filesystem::path& path) {
  const Threads one(1);
  train_run(tiny_experiment(), RunDirectory(path), {});
  return path;
}

}  // namespace segre::test
