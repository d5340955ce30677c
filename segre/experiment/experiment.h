#pragma once

#include "segre/config/schema.h"
#include "segre/model/model.h"
#include "segre/sample/sampler.h"
#include "segre/train/trainer.h"

namespace segre {

/// Which path, see path/path.h.
enum class PathKind { e_geodesic, ray };

struct PathOptions {
  PathKind kind = PathKind::e_geodesic;
  double eps = 0.01;  ///< smoothing of the corners (e-geodesic)
  double rate = 0.5;  ///< speed of the ray
};

/// Everything a run is made of, gathered from one config. The defaults are our recipe for tables and joints.
struct Experiment {
  int64_t seed = 1;
  std::string data;  ///< a source, see data/source.h
  PathOptions path;
  NetOptions net;
  Form form = Form::evidence;
  TrainOptions train;
  SampleOptions sample;

  Experiment();
};

/// The config keys of an experiment, bound to it: they read, check and print it.
ConfigSchema schema_of(Experiment& experiment);

/// Builds the path, and the model with fresh weights on a device.
std::shared_ptr<const Path> make_path(const PathOptions& options);
Model make_model(const Experiment& experiment, const Space& space, torch::Device device);

}  // namespace segre
