#pragma once  // internal

#include "segre/eval/intervals.h"
#include "segre/space/space.h"

namespace segre {

/// How far apart the label frequencies of two sets of independent items are, over all variables of a space.
///
/// Permutations show what two sets from the same distribution would give: the items of both are pooled and split again
/// kPermutations times, which keeps the variables of an item together and needs no approximation.
struct FrequencyComparison {
  torch::Tensor samples;   ///< [S] float64: share of each label of each variable among the samples
  torch::Tensor held_out;  ///< [S] float64: among the held-out items

  /// Mean over the variables of the total variation 1/2 sum_l |share - share|; for binary variables the mean absolute
  /// difference. Smaller is better. Interval by the delta method.
  Estimate difference;
  /// What exact samples would give: the permutations' mean; `high` is their 95% quantile, `low` unknown.
  Estimate difference_floor;

  /// Largest |difference| / standard error over all common labels (at least kFewest expected in both sets, and as many
  /// expected without the label). Smaller is better.
  double largest = 0.0;
  Estimate largest_floor;     ///< the same for exact samples, as above
  int64_t largest_at = -1;    ///< its coordinate; -1 if no label is common
  double significant = 0.0;   ///< share of variables with a label beyond largest_floor.high; 95% of exact samples have
                              ///< none at all (Westfall and Young's correction)
  int64_t n_significant = 0;  ///< their number

  static constexpr int64_t kPermutations = 199;
  static constexpr double kFewest = 5.0;
};

/// Compares samples [N, n] with held-out items [M, n], labels of any integer type; N, M >= 2. `seed` chooses the
/// permutations.
FrequencyComparison compare_frequencies(const Space& space, const torch::Tensor& samples, const torch::Tensor& held_out,
                                        uint64_t seed);

/// FrequencyComparison::difference alone, without an error, of sets of any sizes.
double mean_difference(const Space& space, const torch::Tensor& items, const torch::Tensor& held_out);

/// The most common label over all pixels of all images.
int64_t background_label(const Space& space, const torch::Tensor& labels);

/// One number per image, [B] float64.
struct ImageStatistics {
  torch::Tensor foreground;  ///< pixels that are not background
  torch::Tensor boundary;    ///< share of the pairs of neighbours (right, below) whose labels differ
};

/// Statistics of label images [B, n].
ImageStatistics image_statistics(const Space& space, const torch::Tensor& labels, int64_t background);

}  // namespace segre
