#include "segre/path/path_sample.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "segre/kernels/path_kernels.h"
#include "segre/path/simplex.h"
#include "segre/space/blocks.h"

namespace segre {
namespace {

torch::Tensor raw_noise(const Space& space, const RandomStream& random, uint64_t first_item, int64_t count,
                        torch::TensorOptions options) {
  const int64_t S = space.n_coordinates();
  return fill_normal(torch::empty({count, S}, options), random, first_item * static_cast<uint64_t>(S));
}

// Factors of whole rows: [B] -> [B, 1], or [B, n] -> [B, S].
torch::Tensor per_coordinate(const Space& space, const torch::Tensor& x) {
  return x.dim() == 1 ? x.unsqueeze(1) : spread(space, x);
}

// kappa of every variable, [n]. Unlike variable_scales it copies nothing from the host, so that a CUDA graph can
// capture it.
torch::Tensor scales_on_device(const Space& space, const Path& path, torch::TensorOptions options) {
  if (space.is_uniform() || options.device().is_cpu()) return variable_scales(space, path, options);
  std::vector<torch::Tensor> parts;
  for (const Block& block : space.blocks(options.device()))
    parts.push_back(torch::full({block.n_variables}, path.corner_scale(block.n_labels), options));
  return torch::cat(parts).index_select(0, space.variables_from_blocks(options.device()));
}

// The path at times t, built from standard normals [B, S], which it may overwrite.
PathSample path_from_noise(const Space& space, const Path& path, const torch::Tensor& labels, const torch::Tensor& t,
                           torch::Tensor noise, WithVelocity with_velocity, const Known& known) {
  PathSample sample{labels, t, torch::ones({t.size(0)}, t.options()), std::move(noise), {}, known};
  const auto at = path.at(t);
  if (with_velocity == WithVelocity::no && kernels::serves(sample.v_t)) {
    const auto kappa = scales_on_device(space, path, t.options());
    kernels::gaussian_path_(sample.v_t, space, labels, at.a.contiguous(), at.s.contiguous(), kappa,
                            {.marks = known.labels.defined() ? known.labels.contiguous() : known.labels});
    return sample;
  }
  const auto u_0 = only_open(space, known, project(space, sample.v_t));
  const auto u_beta =
      only_open(space, known, corners(space, path, known.labels.defined() ? labels.clamp_min(0) : labels, t.options()));
  const auto mix = [&](const torch::Tensor& signal, const torch::Tensor& spread_of) {
    return per_coordinate(space, signal) * u_beta + per_coordinate(space, spread_of) * u_0;
  };
  sample.v_t = mix(at.a, at.s);
  if (with_velocity == WithVelocity::yes) sample.velocity = mix(at.da, at.ds);
  return sample;
}

}  // namespace

torch::Tensor reference_noise(const Space& space, const RandomStream& random, uint64_t first_item, int64_t count,
                              torch::TensorOptions options) {
  return project(space, raw_noise(space, random, first_item, count, options));
}

torch::Tensor reference_log_density(const Space& space, const torch::Tensor& u) {
  const double log_volume = 0.5 * static_cast<double>(space.n_dims()) * std::log(2.0 * std::numbers::pi);
  return -0.5 * squared_norm(u) - log_volume;
}

torch::Tensor path_log_density(const Space& space, const Path& path, const torch::Tensor& v,
                               const torch::Tensor& u_beta, double t) {
  const auto at = path.at(t);
  return reference_log_density(space, (v - at.a * u_beta) / at.s) -
         static_cast<double>(space.n_dims()) * std::log(at.s);
}

PathSample sample_path(const Space& space, const Path& path, const torch::Tensor& labels, const torch::Tensor& t,
                       const RandomStream& random, uint64_t first_item, WithVelocity with_velocity,
                       const Known& known) {
  return path_from_noise(space, path, labels, t, raw_noise(space, random, first_item, labels.size(0), t.options()),
                         with_velocity, known);
}

PathSample sample_path(const Space& space, const Path& path, const torch::Tensor& labels, const torch::Tensor& t,
                       const RandomStream& random, const torch::Tensor& first_number, WithVelocity with_velocity,
                       const Known& known) {
  auto noise = torch::empty({labels.size(0), space.n_coordinates()}, t.options());
  return path_from_noise(space, path, labels, t, fill_normal(std::move(noise), random, first_number), with_velocity,
                         known);
}

}  // namespace segre
