#pragma once  // internal

#include "segre/io/growing_buffer.h"

namespace segre {

/// A tensor with no defined contents, in a GrowingBuffer: one of more than `most_in_memory` bytes is mapped, so that it
/// need not fit into memory. Whoever fills such a tensor part by part calls release_pages after each.
torch::Tensor large_tensor(at::IntArrayRef shape, torch::ScalarType type,
                           int64_t most_in_memory = GrowingBuffer::kMostInMemory);

/// tensor.to(type), contiguous; without a copy if it is both already. A mapped tensor becomes a large_tensor.
torch::Tensor converted(const torch::Tensor& tensor, torch::ScalarType type);

}  // namespace segre
