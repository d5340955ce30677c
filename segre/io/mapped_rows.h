#pragma once  // internal

#include <functional>

#include "segre/core/torch.h"

// Tensors that may be views of a MappedFile: what touches all of their memory, or much of it at random, goes through
// here and reads it from the file instead. For other tensors these are plain operations without a copy.

namespace segre {

/// Whether a tensor is a view of a MappedFile.
bool is_mapped(const torch::Tensor& tensor);

/// tensor.index_select(0, rows) with rows [K] int64.
torch::Tensor take_rows(const torch::Tensor& tensor, const torch::Tensor& rows);

/// tensor.slice(0, first, first + count); a copy if the tensor is mapped.
torch::Tensor copy_rows(const torch::Tensor& tensor, int64_t first, int64_t count);

/// Calls use(part, first) for consecutive parts of a tensor's rows, a few megabytes each, in order; `first` is the
/// number of the part's first row. Valid only during the call: the parts of a mapped tensor share their memory.
void for_each_part(const torch::Tensor& tensor,
                   const std::function<void(const torch::Tensor& part, int64_t first)>& use);

/// After the memory of a mapped tensor was touched: takes its pages out of the process's memory. They are not lost.
void release_pages(const torch::Tensor& tensor);

}  // namespace segre
