#pragma once

#include <ostream>

#include "segre/space/space.h"

namespace segre {

/// Bytes per label in an NPY file of this space: 1 up to 256 labels, else 2 (unsigned; 65,536 labels fit).
int64_t npy_label_bytes(const Space& space);

/// Header of an NPY file (version 1.0, unsigned little-endian) of shape [count, *space.shape()].
void write_npy_header(std::ostream& out, const Space& space, int64_t count);

/// The labels [B, n] as the file's values; call it as often as there are batches.
void write_npy_labels(std::ostream& out, const Space& space, const torch::Tensor& labels);

}  // namespace segre
