#pragma once

#include <array>

namespace segre {

/// Gauss and Kronrod's pair of rules with 7 and 15 nodes on [0, 1], nodes rising. The 15-node rule is the value, its
/// distance from the embedded 7-node rule tells the error.
struct KronrodRule {
  std::array<double, 15> nodes;
  std::array<double, 15> weights;
  std::array<double, 15> gauss_weights;  ///< 0 at the nodes the 7-node rule does not have
};
const KronrodRule& kronrod_rule();

}  // namespace segre
