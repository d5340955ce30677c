#pragma once  // internal

#include <optional>
#include <vector>

#include "segre/space/space.h"

namespace segre {

/// Two labels of a row that occur together in training less often than their shares suggest.
struct RarePair {
  int64_t first;    ///< variable
  int64_t second;   ///< variable, after the first
  int64_t seen;     ///< training rows with both labels
  double expected;  ///< number of such rows if the two variables were independent
};

/// The most surprising pair of labels of each row given the training rows, by counting alone: the largest Poisson
/// deviance of `seen` below `expected`. None if chance explains it (5%, all pairs of the row together).
///   rows   [N, n] int64
///   train  [M, n] int64
std::vector<std::optional<RarePair>> rarest_pairs(const torch::Tensor& rows, const torch::Tensor& train);

/// "colour = red with size = m".
std::string describe(const RarePair& pair, const Space& space, const torch::Tensor& row);

}  // namespace segre
