#pragma once

#include "segre/likelihood/flow_bound.h"

namespace segre {

/// How far an estimate from a few draws is from that of all draws.
struct ConvergencePoint {
  int64_t draws;
  double mean;  ///< of the relative error |mean of the first draws - mean of all| / |mean of all|, over items
  double sd;    ///< its spread over items
};

/// The paper's experiment on importance sampling: relative error against number of draws, six numbers of draws to a
/// decade, up to half of all (beyond, an estimate and its reference are mostly the same draws). log_weights [N, draws].
std::vector<ConvergencePoint> convergence_of(const torch::Tensor& log_weights);

}  // namespace segre
