#pragma once  // internal

#include <vector>

#include "segre/space/space.h"

namespace segre {

/// The points of one block of equal cardinality: tensors [*, S] -> [*, n_c, c]. A uniform space is one block, a view.
std::vector<torch::Tensor> block_parts(const Space& space, const Block& block, const std::vector<torch::Tensor>& in);

/// Applies `fn` to the points of each block of equal cardinality and puts the results back in order.
///
///   fn   (list of [*, n_c, c]) -> [*, n_c, c]      differentiable if its operations are
///   in   tensors [*, S]
///   ->   [*, S]
///
/// A uniform space is one block and costs no copy; a mixed one costs a gather in and a gather out.
template <class Fn>
torch::Tensor map_blocks(const Space& space, const std::vector<torch::Tensor>& in, Fn&& fn) {
  const auto device = in.front().device();
  const auto& blocks = space.blocks(device);
  std::vector<torch::Tensor> out;
  for (const Block& block : blocks) out.push_back(fn(block_parts(space, block, in)).flatten(-2));
  if (space.is_uniform()) return out.front();
  return torch::cat(out, -1).index_select(-1, space.coordinates_from_blocks(device));
}

/// Like map_blocks, for functions with one value per variable: fn (list of [*, n_c, c]) -> [*, n_c]; -> [*, n].
template <class Fn>
torch::Tensor reduce_blocks(const Space& space, const std::vector<torch::Tensor>& in, Fn&& fn) {
  const auto device = in.front().device();
  const auto& blocks = space.blocks(device);
  std::vector<torch::Tensor> out;
  for (const Block& block : blocks) out.push_back(fn(block_parts(space, block, in)));
  if (space.is_uniform()) return out.front();
  return torch::cat(out, -1).index_select(-1, space.variables_from_blocks(device));
}

/// Repeats each variable's value over its labels: y [*, n] -> [*, S].
torch::Tensor spread(const Space& space, const torch::Tensor& y);

/// Picks the coordinate of one label per variable: x [B, S], labels [B, n] -> [B, n]. Here and in one_hot, an
/// out-of-range label addresses another variable's coordinate: see check_labels.
torch::Tensor pick(const Space& space, const torch::Tensor& x, const torch::Tensor& labels);

/// 1 at each variable's label, 0 elsewhere: labels [B, n] -> [B, S] with the given options.
torch::Tensor one_hot(const Space& space, const torch::Tensor& labels, torch::TensorOptions options);

/// The label with the largest coordinate: x [*, S] -> [*, n] int64. Ties go to the smallest label.
torch::Tensor argmax_labels(const Space& space, const torch::Tensor& x);

}  // namespace segre
