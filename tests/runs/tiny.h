#pragma once

#include "segre/net/mlp.h"
#include "segre/runs/load_run.h"
#include "segre/runs/train_run.h"

namespace segre::test {

/// An experiment whose steps take no time.
inline Experiment tiny_experiment() {
  Experiment e;
  e.data = "coupled";
  e.net.kind = "mlp";
  e.net.of<MlpOptions>().hidden.assign(1, 8);  // an initialiser list makes g++ 14 warn of memory out of bounds
  e.net.time_features = 2;
  e.train.batch = 32;
  e.train.steps = 12;
  return e;
}

}  // namespace segre::test
