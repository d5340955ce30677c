#pragma once

#include <functional>
#include <vector>

#include "segre/space/space.h"

namespace segre {

/// In Known::labels, a variable that is neither known nor to be found: it has no evidence and is not simulated, so
/// everything else is computed without it. The other mark is kUnknown: to be found, so the flow carries it.
inline constexpr int64_t kLeftOut = -2;

/// What is known about the variables of a batch from outside the flow. Evidence adds up, whoever gave it: an
/// observation with likelihoods L_j adds log L_j to the evidence of the flow, and a known label is infinite evidence,
/// shown to the network as a corner. Undefined tensors mean that nothing is known; such a batch costs nothing more.
struct Known {
  torch::Tensor labels{};  ///< [B, n] int64: the label if it is known, else kUnknown or kLeftOut
  torch::Tensor soft{};    ///< [B, S]: log-likelihoods of every label, up to a constant per variable

  /// Whether nothing is known.
  bool nothing() const { return !labels.defined() && !soft.defined(); }
  /// Rows from ... to - 1.
  Known slice(int64_t from, int64_t to) const;
  /// The rows numbered by `rows` [R] int64.
  Known select(const torch::Tensor& rows) const;
  /// Each row `times` times in a row.
  Known repeat_each(int64_t times) const;
  /// With `soft` in the type of `options`, and all on its device.
  Known to(torch::TensorOptions options) const;
};

/// What is known when items are trained on or scored: labels that are kUnknown are left out, those marked by `given`
/// [n] bool are known, and the rest are to be found. Without `given` and missing labels, nothing is known. labels [B,
/// n].
Known known_of(const torch::Tensor& labels, const torch::Tensor& given = {});

/// Which variables the flow carries: [B, n] bool; undefined if all.
torch::Tensor open_variables(const Known& known);

/// x [B, S] with zeros for all variables that the flow does not carry.
torch::Tensor only_open(const Space& space, const Known& known, const torch::Tensor& x);

/// The sum over the variables that the flow carries: x [B, n] -> [B] float64.
torch::Tensor sum_open(const Known& known, const torch::Tensor& x);

/// Corners [B, S] for the known variables, `W` for the others.
torch::Tensor with_corners(const Space& space, const Known& known, const torch::Tensor& W);

/// Which items of a training the rows of a batch are; this decides what dropout drops.
struct TrainingRows {
  uint64_t seed = 0;      ///< of the training
  torch::Tensor first{};  ///< [1] int64 on the batch's device: number of the first row among all items; undefined
                          ///< outside training, where nothing is dropped
};

/// The input of a field: where the flow is, and what else is known.
struct State {
  torch::Tensor v;  ///< [B, S]; ignored for variables that the flow does not carry
  torch::Tensor t;  ///< [1] for all rows, [B], or [B, n]: each variable at its own time (endpoint and logits only)
  Known known{};
  TrainingRows training{};
};

/// A tensor [B, S] at a state.
using StateFunction = std::function<torch::Tensor(const State& state)>;

}  // namespace segre
