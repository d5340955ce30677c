#pragma once

#include <optional>

#include "segre/space/space.h"

namespace segre {

/// Two labels of a row that training had together less often than their shares say.
struct RarePair {
  int64_t first;    ///< variable
  int64_t second;   ///< variable, behind the first
  int64_t seen;     ///< training rows with both labels
  double expected;  ///< as many as there would be if the two variables were independent
};

/// The pair of labels of a row that is the most surprising among n_train training rows, by counting alone: the largest
/// Poisson deviance of `seen` below `expected`. None where chance explains it (5%, all pairs of the row together).
///   row    [n] int64
///   train  [M, n] int64
std::optional<RarePair> rarest_pair(const torch::Tensor& row, const torch::Tensor& train);

/// "colour = red with size = m".
std::string describe(const RarePair& pair, const Space& space, const torch::Tensor& row);

}  // namespace segre
