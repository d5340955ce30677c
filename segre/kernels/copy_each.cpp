#include "segre/kernels/copy_each.h"

#include "segre/core/error.h"

#ifdef SEGRE_CUDA
#include <c10/cuda/CUDAException.h>

#include "segre/kernels/copy_each_parts.h"
#include "segre/kernels/launch_parts.h"
#endif

namespace segre::kernels {

torch::Tensor in_memory_order(const torch::Tensor& x) {
  if (!x.is_non_overlapping_and_dense()) fail("a tensor of shape ", x.sizes(), " is not dense in memory");
  return x.as_strided({x.numel()}, {1});
}

torch::Tensor in_layout_of(const torch::Tensor& like, const torch::Tensor& x) {
  if (x.strides() == like.strides()) return x;
  return torch::empty_like(like, x.options()).copy_(x);
}

void copy_each_plain(const std::vector<torch::Tensor>& to, const std::vector<torch::Tensor>& from) {
  for (size_t k = 0; k < to.size(); ++k) in_memory_order(to[k]).copy_(in_memory_order(from[k]));
}

#ifdef SEGRE_CUDA
namespace {

CopiedType type_of(const torch::Tensor& x) {
  switch (x.scalar_type()) {
    case torch::kFloat32:
      return CopiedType::float32;
    case torch::kBFloat16:
      return CopiedType::bfloat16;
    case torch::kBool:
      return CopiedType::boolean;
    default:
      fail("copy_each on CUDA: no copies of ", x.scalar_type());
  }
}

CopyPair pair_of(const torch::Tensor& to, const torch::Tensor& from) {
  if (to.numel() != from.numel()) fail("copy_each: ", from.numel(), " numbers for ", to.numel());
  if (to.scalar_type() == torch::kBool) fail("copy_each on CUDA: no copies to bool");
  return {in_memory_order(from).data_ptr(), in_memory_order(to).data_ptr(), to.numel(), type_of(from), type_of(to)};
}

void copy_each_cuda(const std::vector<torch::Tensor>& to, const std::vector<torch::Tensor>& from) {
  for (size_t k = 0; k < to.size();) {
    CopyTable table{};
    for (; k < to.size() && table.count < kCopies; ++k) {
      if (to[k].numel() == 0) continue;
      table.pair[table.count] = pair_of(to[k], from[k]);
      table.first_block[table.count++] = table.n_blocks;
      table.n_blocks += static_cast<int>((to[k].numel() + kCopiedPerBlock - 1) / kCopiedPerBlock);
    }
    if (table.count > 0) C10_CUDA_CHECK(static_cast<cudaError_t>(launch_copies(table, stream_of(to.front()))));
  }
}

}  // namespace
#endif

void copy_each(const std::vector<torch::Tensor>& to, const std::vector<torch::Tensor>& from) {
#ifdef SEGRE_CUDA
  if (!to.empty() && to.front().is_cuda()) return copy_each_cuda(to, from);
#endif
  copy_each_plain(to, from);
}

}  // namespace segre::kernels
