#include "segre/path/tangent.h"

#include <cmath>

#include "segre/space/blocks.h"

namespace segre {

torch::Tensor project(const Space& space, const torch::Tensor& x) {
  return map_blocks(space, {x}, [](const auto& in) { return in[0] - in[0].mean(-1, /*keepdim=*/true); });
}

torch::Tensor tangent_basis(int64_t n_labels, torch::TensorOptions options) {
  auto basis = torch::zeros({n_labels, n_labels - 1}, torch::kFloat64);
  auto at = basis.accessor<double, 2>();
  for (int64_t k = 1; k < n_labels; ++k) {
    const double length = std::sqrt(static_cast<double>(k) * static_cast<double>(k + 1));
    for (int64_t j = 0; j < k; ++j) at[j][k - 1] = 1.0 / length;
    at[k][k - 1] = -static_cast<double>(k) / length;
  }
  return basis.to(options);
}

torch::Tensor squared_norm(const torch::Tensor& x) { return x.square().sum(-1); }

}  // namespace segre
