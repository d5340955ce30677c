#pragma once

#include "segre/net/field.h"
#include "segre/path/simplex.h"
#include "segre/space/blocks.h"
#include "tests/support/support.h"

// What networks that read evidence are shown in tests.

namespace segre::test {

/// B items with evidence of any strength, from next to nothing to nearly certain.
inline FieldInput some_evidence(const Space& space, int64_t B, torch::TensorOptions options = torch::kFloat64) {
  const auto g = 2.0 * noise({B, space.n_variables()}, 41).square();
  const auto e = noise({B, space.n_coordinates()}, 42) * spread(space, g.sqrt());
  return {.W = lift(space, e).to(options),
          .t = torch::full({B}, 0.3, options),
          .strength = g.to(options),
          .standardised = (e * spread(space, (1.0 + g).rsqrt())).to(options)};
}

/// Items from ... to - 1.
inline FieldInput rows_of(const FieldInput& all, int64_t from, int64_t to) {
  const auto part = [&](const torch::Tensor& x) { return x.slice(0, from, to); };
  return {.W = part(all.W), .t = part(all.t), .strength = part(all.strength), .standardised = part(all.standardised)};
}

/// The same numbered from `first` on, as in training.
inline FieldInput numbered(FieldInput input, int64_t first) {
  input.training = {.seed = 1, .first = torch::full({1}, first, torch::kInt64).to(input.W.device())};
  return input;
}

/// Noise in place of all parameters: some start at 0 and hide what others do.
inline void randomise(const Field& field, uint64_t seed = 10) {
  const torch::NoGradGuard no_grad;
  for (const auto& [name, parameter] : field.parameters()) parameter.copy_(0.5 * noise(parameter.sizes(), seed++));
}

}  // namespace segre::test
