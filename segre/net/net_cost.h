#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace segre {

/// The cost of one item.
struct NetCost {
  int64_t n_parameters = 0;
  double forward_flops = 0;   ///< multiply and add counted as two
  double training_flops = 0;  ///< forward and backward
  int64_t n_saved = 0;        ///< numbers kept for the backward pass
};

/// What is known of a network before its weights exist.
struct NetOutline {
  NetCost cost;                     ///< Field::cost
  std::vector<std::string> layers;  ///< Field::layers
  bool couples_items = false;       ///< Field::couples_items
};

}  // namespace segre
