#pragma once  // internal

#include "segre/kernels/column_tokens.h"
#include "segre/net/field.h"

// Differentiable operations around kernels/column_tokens.h.

namespace segre {

/// Whether fused_column_tokens supports these: see kernels::columns_serve, with all weights there, an input in float32,
/// and no gradient of the input requested.
bool fuses_column_tokens(const Space& space, const FieldInput& input, const kernels::ColumnWeights& weights);

/// The tokens of kernels::column_tokens for W, the standardised evidence and its strength, differentiable in the
/// weights. [B, n, d]
torch::Tensor fused_column_tokens(const Space& space, const FieldInput& input, const kernels::ColumnWeights& weights);

/// Whether fused_column_logits supports tokens y [B, n, d], label weights [S, d] and a bias [S].
bool fuses_column_logits(const Space& space, const torch::Tensor& y, const torch::Tensor& labels,
                         const torch::Tensor& bias);

/// kernels::column_logits, differentiable in all three. [B, S]
torch::Tensor fused_column_logits(const Space& space, const torch::Tensor& y, const torch::Tensor& labels,
                                  const torch::Tensor& bias);

}  // namespace segre
