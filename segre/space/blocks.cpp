#include "segre/space/blocks.h"

namespace segre {

std::vector<torch::Tensor> block_parts(const Space& space, const Block& block, const std::vector<torch::Tensor>& in) {
  std::vector<torch::Tensor> parts;
  for (const auto& x : in) {
    const auto selected = space.is_uniform() ? x : x.index_select(-1, block.coordinates);
    parts.push_back(selected.unflatten(-1, {block.n_variables, block.n_labels}));
  }
  return parts;
}

torch::Tensor spread(const Space& space, const torch::Tensor& y) {
  if (space.is_uniform()) {
    const int64_t c = space.max_labels();
    auto sizes = y.sizes().vec();
    sizes.push_back(c);
    return y.unsqueeze(-1).expand(sizes).flatten(-2);
  }
  return y.index_select(-1, space.variable_of_coordinate(y.device()));
}

torch::Tensor pick(const Space& space, const torch::Tensor& x, const torch::Tensor& labels) {
  return x.gather(-1, labels + space.starts(labels.device()));
}

torch::Tensor one_hot(const Space& space, const torch::Tensor& labels, torch::TensorOptions options) {
  auto sizes = labels.sizes().vec();
  sizes.back() = space.n_coordinates();
  return torch::zeros(sizes, options).scatter_(-1, labels + space.starts(labels.device()), 1.0);
}

torch::Tensor argmax_labels(const Space& space, const torch::Tensor& x) {
  return reduce_blocks(space, {x}, [](const auto& in) { return in[0].argmax(-1); });
}

}  // namespace segre
