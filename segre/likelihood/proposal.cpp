#include "segre/likelihood/proposal.h"

#include <cmath>
#include <numbers>

#include "segre/core/error.h"
#include "segre/model/joint_oracle.h"
#include "segre/path/path_sample.h"
#include "segre/path/simplex.h"
#include "segre/space/blocks.h"

namespace segre {

ProposalDraw draw_from_path(const Space& space, const Path& path, const torch::Tensor& labels,
                            const torch::Tensor& all_noise, double t1, const Known& known) {
  const auto at = path.at(t1);
  const auto noise = only_open(space, known, all_noise);
  const auto v = at.a * only_open(space, known, corners(space, path, labels, noise.options())) + at.s * noise;
  const auto readout = sum_open(known, pick(space, matched_readout(space, path, v, t1), labels));
  // log rho from the noise itself: (v - a u)/s would lose digits.
  const auto log_rho =
      reference_log_density(space, noise.to(torch::kFloat64)) - static_cast<double>(space.n_dims()) * std::log(at.s);
  return {v, readout - log_rho};
}

torch::Tensor chi_square_quantile(const torch::Tensor& probability, int64_t dims) {
  // Above 1 no bracket would ever be wide enough, and the bisection would turn NaN into 0.
  if (!(probability >= 0.0).logical_and(probability <= 1.0).all().item<bool>())
    fail("a quantile needs a probability between 0 and 1");
  const auto shape = torch::full({1}, 0.5 * static_cast<double>(dims), probability.options());
  auto low = torch::zeros_like(probability);
  auto high = torch::full_like(probability, static_cast<double>(dims) + 1.0);
  while ((at::special_gammainc(shape, 0.5 * high) < probability).any().item<bool>()) high = 2.0 * high;
  for (int k = 0; k < 60; ++k) {  // bisection, to the last bits of float64
    const auto middle = 0.5 * (low + high);
    const auto below = at::special_gammainc(shape, 0.5 * middle) < probability;
    low = torch::where(below, middle, low);
    high = torch::where(below, high, middle);
  }
  return 0.5 * (low + high);
}

ProposalDraw draw_from_balls(const Space& space, const Path& path, const torch::Tensor& labels,
                             const torch::Tensor& noise, const torch::Tensor& uniform, double mass_each) {
  const auto wide = noise.to(torch::kFloat64);
  auto log_rho = torch::zeros({noise.size(0)}, wide.options());
  // Per block of variables with c labels: offsets from the corners, and their log density.
  const auto offset = map_blocks(space, {wide, spread(space, uniform.to(torch::kFloat64))}, [&](const auto& in) {
    const int64_t c = in[0].size(-1);
    if (c == 1) return torch::zeros_like(in[0]);
    const double radius = path.corner_scale(c) / std::numbers::sqrt2;
    const auto all = torch::full({1}, mass_each, wide.options());
    const double sigma = radius / chi_square_quantile(all, c - 1).sqrt().template item<double>();
    const auto squared = chi_square_quantile(in[1].select(-1, 0) * mass_each, c - 1);  // |offset / sigma|^2
    // Float32 noise of two labels is equal once in ten million draws and then has no direction.
    const auto length = in[0].norm(2, -1, /*keepdim=*/true);
    const auto direction = torch::where(length > 0.0, in[0] / length, tangent_basis(c, wide.options()).select(1, 0));
    const double log_volume =
        static_cast<double>(c - 1) * std::log(sigma * std::sqrt(2.0 * std::numbers::pi)) + std::log(mass_each);
    log_rho += (-0.5 * squared - log_volume).sum(-1);
    return direction * (sigma * squared.sqrt()).unsqueeze(-1);
  });
  const auto v = corners(space, path, labels, wide.options()) + offset;
  return {v.to(noise.options()), -log_rho};
}

}  // namespace segre
