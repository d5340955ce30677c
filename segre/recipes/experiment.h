#pragma once

#include "segre/config/schema.h"
#include "segre/flow/sampler.h"
#include "segre/model/model.h"
#include "segre/net/net_kinds.h"
#include "segre/path/path_kinds.h"
#include "segre/recipes/custom_field.h"
#include "segre/train/trainer.h"
#include "segre/train/watch_plan.h"

namespace segre {

/// All options of a run, read from one config. The defaults suit joints of a few variables; recipe_for (recipe.h)
/// chooses those for the data.
struct Experiment {
  int64_t seed = 1;
  std::string data;        ///< a source, see data/source.h
  std::string validation;  ///< a source of held-out items; empty: taken from the data
  double holdout = 0.05;   ///< largest share of the data's items held out for validation
  PathOptions path;
  NetOptions net;
  std::string custom_net;  ///< name of a network that the program supplies instead, see CustomField; empty: use `net`
  Form form = Form::evidence;
  TrainOptions train;
  WatchOptions watch;
  SampleOptions sample;

  Experiment();
};

/// The config keys of an experiment, bound to it for reading, checking and printing.
ConfigSchema schema_of(Experiment& experiment);

/// Applies "key=value" to the experiment of a trained run. InputError names `option` unless the keys are of sample.*.
void set_sample_keys(Experiment& experiment, const std::vector<std::string>& set, const std::string& option = "--set");

/// Builds the model with fresh weights on a device. `custom` is the network that experiment.custom_net
/// names; InputError if one is given without the other.
Model make_model(const Experiment& experiment, const Space& space, torch::Device device,
                 const CustomField& custom = {});

/// Cost and layers of the model's network, see outline_net. InputError as make_model.
NetOutline outline_of(const Experiment& experiment, const Space& space);

/// Makes an experiment use the program's own network and resets the keys of segre's networks to their defaults, except
/// net.precision. InputError if it has no name.
void use_custom_field(Experiment& experiment, const CustomField& custom);

}  // namespace segre
