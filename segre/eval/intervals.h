#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "segre/core/torch.h"

namespace segre {

/// A number with its 95% interval; the ends are NaN where none is known.
struct Estimate {
  double value = 0.0;
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
};

/// value -+ 1.96 standard errors, cut off at `least` and `most`.
Estimate normal_estimate(double value, double standard_error, double least = -std::numeric_limits<double>::infinity(),
                         double most = std::numeric_limits<double>::infinity());

/// The share hits / total with Wilson's interval, which is sound for few hits and for none. total >= 1. Numbers that
/// are not whole are those of items that stand for several, or for a part of one.
Estimate share_estimate(double hits, double total);

/// The least total for which the interval of a share lies below `most`, which is larger.
double total_for_share_below(double share, double most);

/// Mean of independent values [N], N >= 2, by the central limit theorem.
Estimate mean_estimate(const torch::Tensor& values);

/// Mean of independent shares [N] in [0, 1], N >= 2, by the central limit theorem; where all are 0, or all 1, Wilson's
/// interval of as many hits, since their spread then says nothing.
Estimate mean_share_estimate(const torch::Tensor& shares);

/// Standard deviation of independent values [N], N >= 2; its error by the delta method from the fourth moment.
Estimate spread_estimate(const torch::Tensor& values);

/// x less y of two estimates whose errors have this correlation; the interval from theirs (Newcombe's way for shares;
/// for means it is the normal one; Zou and Donner 2008 for the rest).
Estimate difference(const Estimate& x, const Estimate& y, double correlation = 0.0);

/// Probability that a value of `lower` [N] is below a value of `higher` [M], ties counted half: the AUROC of roc.h with
/// its interval. N, M >= 2.
Estimate probability_below(const torch::Tensor& lower, const torch::Tensor& higher);

/// The q-quantile of independent values [N]; the interval lies between two of them, whose ranks the binomial law gives.
Estimate quantile_estimate(const torch::Tensor& values, double q);

/// The q-quantile of values: the smallest value that at least a share q of them does not exceed.
double quantile_of(std::vector<double> values, double q);

}  // namespace segre
