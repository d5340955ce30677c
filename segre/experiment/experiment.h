#pragma once

#include "segre/config/schema.h"
#include "segre/experiment/custom_field.h"
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

/// What is watched while training.
struct WatchOptions {
  int64_t every = 0;           ///< steps between validations; 0: so that they take little of the time, twenty at most
  int64_t items = 512;         ///< held-out items a validation looks at
  int64_t evaluations = 0;     ///< of the network in a validation; 0: as many as the training's length allows
  int64_t grid = 16;           ///< images in the pictures of samples made on the way; 0: none
  int64_t keep = 2;            ///< checkpoints kept beside the best
  double save_seconds = 30.0;  ///< time between checkpoints
  bool tensorboard = false;    ///< write TensorBoard event files too
};

/// Everything a run is made of, gathered from one config. The defaults are our recipe for joints; recipe_for
/// (recipe.h) chooses one from the data.
struct Experiment {
  int64_t seed = 1;
  std::string data;        ///< a source, see data/source.h
  std::string validation;  ///< a source of held-out items; empty: some of the data's own
  double holdout = 0.05;   ///< largest share of the data's items held out for validation
  PathOptions path;
  NetOptions net;
  std::string custom_net;  ///< name of a network that the program brings instead, see CustomField; empty: `net`
  Form form = Form::evidence;
  TrainOptions train;
  WatchOptions watch;
  SampleOptions sample;

  Experiment();
};

/// The config keys of an experiment, bound to it: they read, check and print it.
ConfigSchema schema_of(Experiment& experiment);

/// The type the network computes with on a device.
torch::ScalarType compute_type(const NetOptions& net, torch::Device device);

/// Builds the path, and the model with fresh weights on a device. `custom` is the network that experiment.custom_net
/// names; InputError where the one is given without the other.
std::shared_ptr<const Path> make_path(const PathOptions& options);
Model make_model(const Experiment& experiment, const Space& space, torch::Device device,
                 const CustomField& custom = {});

/// Makes an experiment one of the program's own network; the keys of segre's are set back to their defaults, but for
/// net.precision. InputError if it has no name.
void use_custom_field(Experiment& experiment, const CustomField& custom);

}  // namespace segre
