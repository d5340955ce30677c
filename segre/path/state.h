#pragma once

#include <functional>

#include "segre/path/known.h"

namespace segre {

/// Which items of a training the rows of a batch are; this decides what dropout drops.
struct TrainingRows {
  uint64_t seed = 0;      ///< of the training
  torch::Tensor first{};  ///< [1] int64 on the batch's device: number of the first row among all items; undefined
                          ///< outside training, where nothing is dropped
};

/// What a field is asked about: where the flow is, and what is known besides.
struct State {
  torch::Tensor v;  ///< [B, S]; ignored for variables that the flow does not carry
  torch::Tensor t;  ///< [1] for all rows, [B], or [B, n]: each variable at its own time (endpoint and logits only)
  Known known{};
  TrainingRows training{};
};

/// A tensor [B, S] at a state.
using StateFunction = std::function<torch::Tensor(const State& state)>;

}  // namespace segre
