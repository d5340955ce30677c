#pragma once  // internal

#include <vector>

#include "segre/core/torch.h"

namespace segre::kernels {

/// The numbers of a dense tensor in the order of its memory: a view [numel].
torch::Tensor in_memory_order(const torch::Tensor& x);

/// The numbers of x in the layout of `like`, which has the same shape: x itself, or a copy.
torch::Tensor in_layout_of(const torch::Tensor& like, const torch::Tensor& x);

/// Copies from[k] to to[k] for every k, in the order of memory, converted to the type of to[k]; both are dense and have
/// the same number of elements. On CUDA, many tensors in one launch: float32, bfloat16 or bool to float32 or bfloat16.
void copy_each(const std::vector<torch::Tensor>& to, const std::vector<torch::Tensor>& from);

/// Its twin in plain tensor operations, for any device and types.
void copy_each_plain(const std::vector<torch::Tensor>& to, const std::vector<torch::Tensor>& from);

}  // namespace segre::kernels
