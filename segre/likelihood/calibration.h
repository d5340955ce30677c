#pragma once  // internal

#include <functional>
#include <optional>

#include "segre/likelihood/scores.h"

namespace segre {

/// How the errors that an estimator reports compare with the errors it makes, over many seeds.
struct Calibration {
  int64_t n_seeds;
  double
      within_one;  ///< share of seeds whose average is within one reported error of the truth; 0.683 for the normal law
  double within_two;  ///< within two; 0.954
  double ratio;       ///< root mean square of the errors made, in units of that of the reported ones; 1 is ideal
  double bias;        ///< mean error made, nats
  double bias_error;  ///< its standard error
};

/// Scores distinct labelings with seeds 1 ... n_seeds and averages each as `summarise` does with `counts`. `truth` is
/// the correct average; without it, the mean over the seeds is used.
Calibration calibrate(const std::function<ItemScores(uint64_t seed)>& score, int64_t n_seeds, const Space& space,
                      const torch::Tensor& counts, std::optional<double> truth);

}  // namespace segre
