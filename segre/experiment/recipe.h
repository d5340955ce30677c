#pragma once

#include "segre/experiment/experiment.h"

namespace segre {

/// Our recipe for data of this kind and amount: a UNet for images, a mixture of products for joints of a few variables,
/// an MLP for the other tables and for sequences. n_items as in DataSource::n_items. On a CPU the UNet is small.
Experiment recipe_for(const Space& space, int64_t n_items, torch::Device device = torch::kCPU);

/// A recipe whose training finishes within `seconds`: the largest UNet that sees enough items, found by trying a few
/// steps of each, with a batch that leaves enough steps. Other networks are fast enough as they are.
Experiment fit_recipe(const DataSource& source, torch::Device device, double seconds);

}  // namespace segre
