#pragma once  // internal

#include "segre/space/space.h"

// What turns the columns of a table into the tokens of a transformer and back, each in one reading and writing of the
// tokens. A column has few labels, far too few for the matrix products of LibTorch, which also need copies in other
// orders. On CUDA only; the twin of all of them is the code of TransformerField for other devices.

namespace segre::kernels {

/// Maximum number of labels of a column.
inline constexpr int64_t kMaxColumnLabels = 32;

/// Where the labels of n columns are on the axis of S coordinates, as in Space. Column i has labels o_i + j.
struct ColumnAxis {
  int64_t n_columns = 0;      ///< n
  int64_t n_coordinates = 0;  ///< S
  int64_t max_labels = 0;     ///< of a column
  torch::Tensor starts{};     ///< [n] int64 on the device: o_i; undefined if every column has max_labels
};

/// What is seen of the columns of B items; contiguous float32.
struct ColumnsSeen {
  torch::Tensor point;       ///< W [B, S]
  torch::Tensor evidence{};  ///< z [B, S]; may be undefined
  torch::Tensor strength{};  ///< g [B, n]; may be undefined
};

/// Weights of tokens, or their gradients; contiguous and of one type.
struct ColumnWeights {
  torch::Tensor labels;      ///< E [S, d]
  torch::Tensor evidence{};  ///< A [S, d]; undefined without ColumnsSeen::evidence
  torch::Tensor strength{};  ///< b [1, d]; undefined without ColumnsSeen::strength
  torch::Tensor position{};  ///< p [n, d]; likewise
};

/// Whether the kernels support columns with label weights [S, d]: in CUDA builds, contiguous float32 or bfloat16 on
/// CUDA, with d a multiple of 8 and at most kMaxColumnLabels labels in every column.
bool columns_serve(const ColumnAxis& axis, const torch::Tensor& labels);

/// Whether a tensor is contiguous and begins at a multiple of 16 bytes, as the kernels need it.
bool is_packed(const torch::Tensor& x);

/// Token i of item b: sum_j W_ij E_ij + sum_j z_ij A_ij + log(1 + g_i) b + p_i, summed in float32 and rounded once.
/// -> [B, n, d] of the weights' type.
torch::Tensor column_tokens(const ColumnAxis& axis, const ColumnsSeen& seen, const ColumnWeights& weights);

/// Gradients of the weights given that of the tokens [B, n, d], in its type. Sums in float32 and in a fixed order: the
/// same bits every time.
ColumnWeights column_tokens_gradients(const ColumnAxis& axis, const ColumnsSeen& seen, const torch::Tensor& grad);

/// Logits sum_k y_ik E_ijk + bias_ij of tokens y [B, n, d], label weights E [S, d] of their type and a bias [S] in
/// float32 -> [B, S] float32.
torch::Tensor column_logits(const ColumnAxis& axis, const torch::Tensor& y, const torch::Tensor& labels,
                            const torch::Tensor& bias);

/// Gradients of column_logits given that of the logits [B, S] float32; in a fixed order, as above.
struct ColumnLogitsGradients {
  torch::Tensor y;       ///< [B, n, d]
  torch::Tensor labels;  ///< [S, d]
  torch::Tensor bias;    ///< [S] float32
};
ColumnLogitsGradients column_logits_gradients(const ColumnAxis& axis, const torch::Tensor& grad, const torch::Tensor& y,
                                              const torch::Tensor& labels);

}  // namespace segre::kernels

namespace segre {

/// Whether fused_column_tokens supports these: see kernels::columns_serve, with all weights and inputs there, inputs in
/// float32, and no gradient of an input wanted.
bool fuses_column_tokens(const Space& space, const kernels::ColumnsSeen& seen, const kernels::ColumnWeights& weights);

/// kernels::column_tokens, differentiable in the weights. [B, n, d]
torch::Tensor fused_column_tokens(const Space& space, const kernels::ColumnsSeen& seen,
                                  const kernels::ColumnWeights& weights);

/// Whether fused_column_logits supports tokens y [B, n, d], label weights [S, d] and a bias [S].
bool fuses_column_logits(const Space& space, const torch::Tensor& y, const torch::Tensor& labels,
                         const torch::Tensor& bias);

/// kernels::column_logits, differentiable in all three. [B, S]
torch::Tensor fused_column_logits(const Space& space, const torch::Tensor& y, const torch::Tensor& labels,
                                  const torch::Tensor& bias);

}  // namespace segre
