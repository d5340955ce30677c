#pragma once  // internal

#include <array>

namespace segre {

/// The Gauss-Kronrod pair of rules with 7 and 15 nodes on [0, 1], nodes ascending. The 15-node rule gives the value;
/// its difference from the embedded 7-node rule estimates the error.
struct KronrodRule {
  std::array<double, 15> nodes;
  std::array<double, 15> weights;
  std::array<double, 15> gauss_weights;  ///< 0 at nodes that the 7-node rule lacks
};
const KronrodRule& kronrod_rule();

}  // namespace segre
