#pragma once

#include "segre/experiment/experiment.h"

namespace segre {

/// Our recipe for data of this kind and amount: a UNet for images, a mixture of products for joints of a few variables,
/// an MLP for the other tables and for sequences. n_items as DataSource::n_items. On a CPU the UNet is a small one.
Experiment recipe_for(const Space& space, int64_t n_items, torch::Device device = torch::kCPU);

/// The recipe whose training ends within `seconds`: of the UNets the largest that gets to see enough items, found by
/// trying a few steps of each, with a batch that leaves enough steps. Other networks are quick enough as they are.
Experiment fit_recipe(const DataSource& source, torch::Device device, double seconds);

}  // namespace segre
