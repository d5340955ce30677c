#pragma once  // internal

#include <nlohmann/json.hpp>

#include "segre/data/joint_table.h"
#include "segre/eval/total_variation.h"

namespace segre {

/// A plotly figure.
struct Figure {
  nlohmann::json traces;
  nlohmann::json layout;
};

/// The tetrahedron of all joint distributions of two binary variables with the surface of the factorising ones and the
/// target p as a point (the paper's Figure 1).
Figure tetrahedron(const JointTable& target);

/// The same with flow curves T(W(t)), coloured by the corner they end in (the paper's Figure 2).
///   trajectories [times, curves, 4]   states v along the flow, Sampler::trajectories
Figure tetrahedron_with_flow(const JointTable& target, const torch::Tensor& trajectories);

/// Target and sampled frequencies of two variables side by side on one colour scale (the paper's Figure 5).
Figure histograms(const JointTable& target, const LabelingCounts& counts);

/// A run's bound on -log p during training, in nats, and the entropy of the target, which it cannot stay below.
struct LossCurve {
  std::string name;
  std::vector<double> steps;
  std::vector<double> nats;
  double entropy;
};

/// Several runs, each in its own panel.
Figure loss_curves(const std::vector<LossCurve>& curves);

}  // namespace segre
