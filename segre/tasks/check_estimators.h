#pragma once  // internal

#include <optional>

#include "segre/core/work.h"
#include "segre/likelihood/calibration.h"
#include "segre/model/joint_oracle.h"

namespace segre {

/// The budget of every estimator.
struct CheckOptions {
  int64_t times = 4096;            ///< evaluations per labeling (free)
  int64_t draws = 16;              ///< per labeling (path, ball)
  int64_t trajectories = 100'000;  ///< of the direct simulation
  double t1 = 0.0;                 ///< when labels are read; 0: at the decision time
  uint64_t seed = 1;
};

/// One estimator with the exact flow of a known distribution, compared with the exact log p. Nats.
struct EstimatorCheck {
  std::string name;
  double mean_error = 0.0;      ///< estimate minus log p, mean over labelings
  double its_error = 0.0;       ///< standard error reported for it
  double rms_error = 0.0;       ///< over labelings
  double reported_error = 0.0;  ///< root mean square of the reported errors of labelings
  Measured sum{};               ///< of exp(estimate); a lower bound's is at most 1 up to its error
  double seconds = 0.0;
};

/// How often the average is as close to the exact value as its reported error claims.
struct EstimatorCalibration {
  std::string name;
  Calibration once;   ///< of every labeling once
  Calibration items;  ///< of many items drawn from the distribution
};

/// A random distribution of variables with these label counts: p proportional to exp of standard normals. InputError
/// if it has more than kMaxCheckedLabelings labelings.
JointTable random_joint(const std::vector<int64_t>& n_labels, uint64_t seed);

/// Maximum number of labelings, since every estimator scores each of them.
inline constexpr int64_t kMaxCheckedLabelings = 4096;

/// Runs every estimator once; `on_check`, if given, is called after each.
std::vector<EstimatorCheck> check_estimators(const JointOracle& oracle, const CheckOptions& options,
                                             const std::function<void(const EstimatorCheck&)>& on_check = {});

/// Runs every estimator with seeds 1 ... n_seeds, for averages over every labeling once and over n_items drawn ones.
std::vector<EstimatorCalibration> calibrate_estimators(
    const JointOracle& oracle, const CheckOptions& options, int64_t n_seeds, int64_t n_items,
    const std::function<void(const EstimatorCalibration&)>& on_calibration = {});

}  // namespace segre
