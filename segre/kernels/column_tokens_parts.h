#pragma once  // internal

// The interface between column_tokens.cpp and column_tokens.cu: sizes and raw pointers, so that nvcc does not have to
// parse LibTorch. Weights and tokens are bfloat16 if `half`, else float32, and aligned to 16 bytes; the channels are a
// multiple of 8. Everything is launched on `cuda_stream`; nothing allocates or waits.

#include <cstdint>

namespace segre::kernels::detail {

/// The sizes of a batch of B items with n columns, S labels in all and d channels.
struct ColumnSizes {
  int64_t items, columns, labels, channels;
  int64_t most_labels;    ///< of a column
  const int64_t* starts;  ///< [n] on the device: the first label of each column; null if all have most_labels
};

/// What the tokens are sums over, [B, S], [B, S] and [B, n]. All but the point may be null.
struct SeenColumns {
  const float *point, *evidence, *strength;
};

/// Weights or their gradients: [S, d], [S, d], [d] and [n, d]. Evidence is null if that of SeenColumns is, strength and
/// position are if the strength of SeenColumns is.
template <class Pointer>
struct OfColumns {
  Pointer labels, evidence, strength, position;
};

/// tokens [B, n, d].
void column_tokens_cuda(const ColumnSizes& sizes, const SeenColumns& seen, const OfColumns<const void*>& weights,
                        void* tokens, bool half, void* cuda_stream);

/// Sums over the items of what was seen times grad [B, n, d]. `partial` is [n, d] float32, and null without strength;
/// `total` is [S] float32 for the sums of the point itself, or null.
void column_sums_cuda(const ColumnSizes& sizes, const SeenColumns& seen, const void* grad, const OfColumns<void*>& sums,
                      float* partial, float* total, bool half, void* cuda_stream);

/// logits [B, S] float32 of y [B, n, d], labels [S, d] and bias [S].
void column_logits_cuda(const ColumnSizes& sizes, const void* y, const void* labels, const float* bias, float* logits,
                        bool half, void* cuda_stream);

}  // namespace segre::kernels::detail
