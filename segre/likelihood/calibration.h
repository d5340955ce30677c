#pragma once

#include <functional>
#include <optional>

#include "segre/likelihood/summary.h"

namespace segre {

/// How the errors that an estimator prints compare with the errors it makes, over many seeds.
struct Calibration {
  int64_t n_seeds;
  double
      within_one;  ///< share of seeds whose average lies within one printed error of the truth; 0.683 for a normal law
  double within_two;  ///< within two; 0.954
  double ratio;       ///< root mean square of the errors made, in units of that of the printed ones; 1 is right
  double bias;        ///< mean error made, nats
  double bias_error;  ///< its standard error
};

/// Scores different labelings with seeds 1 ... n_seeds and averages each as `summarise` does with `counts`. `truth` is
/// the average they should have; without it, the mean over the seeds stands in.
Calibration calibrate(const std::function<ItemScores(uint64_t seed)>& score, int64_t n_seeds, const Space& space,
                      const torch::Tensor& counts, std::optional<double> truth);

}  // namespace segre
