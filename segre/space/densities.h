#pragma once  // internal

#include "segre/space/space.h"

namespace segre {

/// The log density of numbers and dates within their levels, given the labels: what makes log p of labels [N, n] int64
/// a density in the units of the columns. [N, n] float64 on the CPU, at the first variable of each column; 0 for
/// labels, for values with a label of their own, which have a probability, and where labels are unknown. Undefined if
/// no column has a density.
torch::Tensor log_densities(const Space& space, const torch::Tensor& labels);

/// Whether the values of a column have a density: levels that are more than single values.
bool has_density(const Space& space, const Column& column);

}  // namespace segre
