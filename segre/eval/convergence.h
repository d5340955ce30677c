#pragma once  // internal

#include "segre/likelihood/flow_bound.h"

namespace segre {

/// How far an estimate from a few draws is from the limit of many.
struct ConvergencePoint {
  int64_t draws;
  double mean;  ///< of the relative error over items
  double sd;    ///< its spread over items; NaN for a single item
};

/// The paper's experiment on importance sampling: relative error against the number of draws, six points per
/// decade, up to half of all draws. log_weights [N, draws]. The error of the first m of K draws is
///
///   |mean of m - mean of K| / sqrt(1 - m/K) / max(|mean of K|, 1 nat)
///
/// The m draws are among the K, which brings the two means closer by the factor sqrt(1 - m/K); uncorrected, the last
/// point would be 29% too low. Below 1 nat the error is in nats, since dividing by a mean near 0 is meaningless.
std::vector<ConvergencePoint> convergence_of(const torch::Tensor& log_weights);

}  // namespace segre
