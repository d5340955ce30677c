#pragma once

#include <functional>

#include "segre/state/known.h"

namespace segre {

/// What a field is asked about: where the flow is, and what is known besides.
struct State {
  torch::Tensor v;  ///< [B, S]; ignored for variables that the flow does not carry
  torch::Tensor t;  ///< [1] for all rows, [B], or [B, n]: each variable at its own time (endpoint and logits only)
  Known known{};
};

/// A tensor [B, S] at a state.
using StateFunction = std::function<torch::Tensor(const State& state)>;

}  // namespace segre
