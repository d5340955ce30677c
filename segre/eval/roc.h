#pragma once

#include <vector>

namespace segre {

/// How well a score distinguishes items outside a distribution from items inside it. Larger scores mean more outside.
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
/// scale; if the two samples do not overlap at all, so that DeLong's variance is 0, it is Clopper and Pearson's for
/// min(m, n) disjoint pairs, all in the right order. The interval of fpr95 combines two errors: that of the threshold,
/// which is between two inside items with binomial ranks (unbounded if the upper rank is beyond the last item), and
/// Wilson's for the share of outside items. Needs two items of each kind; Error if a score is NaN.
Roc roc(const std::vector<double>& inside, const std::vector<double>& outside);

/// One measure's scores of the inside and outside items.
struct RocSamples {
  std::vector<double> inside;
  std::vector<double> outside;
};

/// Correlation of the errors of two scores' AUROCs on the same items: DeLong's covariance divided by the two standard
/// errors, in [-1, 1]; 0 if one of the two has no error.
double auroc_correlation(const RocSamples& x, const RocSamples& y);

}  // namespace segre
