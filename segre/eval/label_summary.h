#pragma once  // internal

#include <vector>

#include "segre/space/space.h"

namespace segre {

/// Summary statistics of a set of items.
struct LabelSummary {
  std::vector<double> shares;      ///< of label 0, 1, ..., among the variables that have it
  double nonzero_mean = 0.0;       ///< mean number of variables per item with a nonzero label
  double nonzero_sd = 0.0;         ///< its standard deviation over items
  double neighbours_differ = 0.0;  ///< share of neighbouring pixels with different labels; NaN if not an image
};

/// Of labels [N, n], N >= 1.
LabelSummary summarise_labels(const Space& space, const torch::Tensor& labels);

/// Mean absolute difference of the labels' shares.
double share_error(const LabelSummary& summary, const LabelSummary& reference);

}  // namespace segre
