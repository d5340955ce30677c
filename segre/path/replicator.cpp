#include "segre/path/replicator.h"

#include "segre/space/blocks.h"

namespace segre {

torch::Tensor replicator(const Space& space, const torch::Tensor& W, const torch::Tensor& x) {
  return map_blocks(space, {W, x}, [](const auto& in) {
    const auto mean = (in[0] * in[1]).sum(-1, /*keepdim=*/true);
    return in[0] * (in[1] - mean);
  });
}

torch::Tensor fisher_rao_squared(const Space& space, const torch::Tensor& W, const torch::Tensor& x) {
  return reduce_blocks(space, {W, x}, [](const auto& in) {
    // Centred before squaring: the difference of two large means would cancel.
    const auto mean = (in[0] * in[1]).sum(-1, /*keepdim=*/true);
    return (in[0] * (in[1] - mean).square()).sum(-1);
  });
}

torch::Tensor fisher_rao_norm(const Space& space, const torch::Tensor& W, const torch::Tensor& x) {
  return fisher_rao_squared(space, W, x).sum(-1).sqrt();
}

}  // namespace segre
