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

}  // namespace segre::test
