#pragma once  // internal

#include <cstdint>
#include <limits>
#include <vector>

#include "segre/core/torch.h"

namespace segre {

/// A number with its 95% interval; the ends are NaN if unknown.
struct Estimate {
  double value = 0.0;
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
};

/// value -+ 1.96 standard errors, clipped to [least, most].
Estimate normal_estimate(double value, double standard_error, double least = -std::numeric_limits<double>::infinity(),
                         double most = std::numeric_limits<double>::infinity());

/// The share hits / total with Wilson's interval, which is valid even for few hits or none. total >= 1. Weighted items
/// give numbers that are not whole.
Estimate share_estimate(double hits, double total);

/// The smallest total for which the interval of `share` is below `most`, where most > share.
double total_for_share_below(double share, double most);

/// Mean of independent values [N], N >= 2, by the central limit theorem.
Estimate mean_estimate(const torch::Tensor& values);

/// Mean of independent shares [N] in [0, 1], N >= 2, by the central limit theorem; if all are 0 or all are 1,
/// Wilson's interval, since their spread then carries no information.
Estimate mean_share_estimate(const torch::Tensor& shares);

/// Standard deviation of independent values [N], N >= 2; its error by the delta method from the fourth moment.
Estimate spread_estimate(const torch::Tensor& values);

/// x - y of two estimates whose errors have this correlation; the interval follows from theirs (Newcombe's method for
/// shares, the normal interval for means, Zou and Donner 2008 for the rest).
Estimate difference(const Estimate& x, const Estimate& y, double correlation = 0.0);

/// Probability that a value of `lower` [N] is below a value of `higher` [M], ties count half: the AUROC of roc.h with
/// its interval. N, M >= 2.
Estimate probability_below(const torch::Tensor& lower, const torch::Tensor& higher);

/// The q-quantile of independent values [N]; the ends of the interval are two of them, with binomial ranks.
Estimate quantile_estimate(const torch::Tensor& values, double q);

/// Whether a value lies outside an interval.
inline bool excludes(const Estimate& interval, double value) { return value < interval.low || value > interval.high; }

/// What exact samples give, from values of some of them: their mean; `high` is their 95% quantile, `low` unknown.
Estimate floor_estimate(const std::vector<double>& values);

/// The q-quantile of values: the smallest value that at least a share q of them does not exceed.
double quantile_of(std::vector<double> values, double q);

}  // namespace segre
