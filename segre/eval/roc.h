#pragma once

#include <vector>

namespace segre {

/// How well a score tells items from outside a distribution from items inside it. Larger scores mean more outside.
struct Roc {
  double auroc;  ///< P(outside > inside) + 1/2 P(equal): 1 is best, 0.5 is chance, below 0.5 the score points backwards
  double low;    ///< 95% confidence interval of auroc, within [0, 1]
  double high;
  double fpr95;  ///< false positive rate at 95% recall, of inside items: the share of outside items accepted by the
                 ///< smallest threshold that accepts 95% of the inside items (score <= threshold); 0 is best
  double fpr95_low = 0.0;  ///< 95% confidence interval of fpr95, within [0, 1]
  double fpr95_high = 1.0;
};

/// The exact Mann-Whitney statistic with ties, in n log n. The interval is DeLong's (Biometrics 1988) on the logit
/// scale; where the two samples do not overlap at all, so that DeLong's variance is 0, it is Clopper and Pearson's for
/// min(m, n) disjoint pairs, all in the right order. The interval of fpr95 joins the two errors it has: that of the
/// threshold, which lies between two inside items whose ranks the binomial law gives (all thresholds above, where that
/// rank is beyond the last item), and Wilson's of the share of outside items. Needs two items of each kind; Error where
/// a score is NaN.
Roc roc(const std::vector<double>& inside, const std::vector<double>& outside);

/// The scores of the same inside and outside items by one measure.
struct ScoredSets {
  std::vector<double> inside;
  std::vector<double> outside;
};

/// How the errors of two scores' AUROCs go together, since both come from the same items: DeLong's covariance over the
/// two standard errors, in [-1, 1]; 0 where one of the two has no error.
double auroc_correlation(const ScoredSets& x, const ScoredSets& y);

}  // namespace segre
