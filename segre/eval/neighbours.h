#pragma once  // internal

#include "segre/eval/intervals.h"
#include "segre/space/space.h"

namespace segre {

/// The nearest items by Hamming distance, the number of variables whose labels differ.
struct Neighbours {
  torch::Tensor distance;  ///< [B, k] int64, ascending
  torch::Tensor row;       ///< [B, k] int64: which item; the first of equally near ones
};

/// For each of `items` [B, n] the k nearest of `among` [N, n], 1 <= k <= N, by exact search over all. Labels have any
/// integer type, are on the CPU and in their variables' ranges (check_integer_labels); the work, matrix products of
/// indicators in blocks of bounded size, is done on `device`.
Neighbours nearest_items(const Space& space, const torch::Tensor& items, const torch::Tensor& among, int64_t k,
                         torch::Device device);

/// Whether a model repeats its training items. A sample that equals one is a copy. Some held-out items naturally equal
/// one too, and theirs is the rate to compare with; likewise for the distance to the nearest training item.
struct Memorisation {
  Estimate copies;          ///< share of samples at distance 0 (Wilson's interval)
  Estimate natural_copies;  ///< share of held-out items at distance 0
  Estimate nearer;          ///< chance that a sample's nearest training item is nearer than a held-out item's, ties
                            ///< count half; 1/2 is best, a model that memorises has more (DeLong's interval)
  Estimate median;          ///< of the samples' distances
  Estimate natural_median;  ///< of the held-out items'
  Estimate nearest5;        ///< the distance that 5% of the samples do not exceed
  Estimate natural_nearest5;
};

/// From distances to the nearest training item, [N] of samples and [M] of held-out items; N, M >= 2.
Memorisation judge_memorisation(const torch::Tensor& samples, const torch::Tensor& held_out);

}  // namespace segre
