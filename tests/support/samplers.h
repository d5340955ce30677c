#pragma once

#include <string>
#include <vector>

#include "segre/flow/sampler_kinds.h"

namespace segre::test {

/// The names of all samplers.
inline std::vector<std::string> sampler_names() {
  std::vector<std::string> names;
  for (const SamplerKind& kind : sampler_kinds()) names.push_back(kind.name);
  return names;
}

/// Those that take steps in t. A kind that only counts its evaluations (erasure) fills in labels instead: it has no
/// plan, no order and no state between t = 0 and t1, so what is said of trajectories is not said of it.
inline std::vector<std::string> stepping_sampler_names() {
  std::vector<std::string> names;
  for (const SamplerKind& kind : sampler_kinds())
    if (!kind.counts_steps) names.push_back(kind.name);
  return names;
}

}  // namespace segre::test
