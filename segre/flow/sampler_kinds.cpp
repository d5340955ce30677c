#include "segre/flow/sampler_kinds.h"

#include "segre/config/kinds.h"

namespace segre {

// Defined in runge_kutta.cpp, adams_bashforth.cpp, multistep.cpp, dormand_prince.cpp, diffusion.cpp,
// erasure.cpp.
SamplerKind euler_kind();
SamplerKind midpoint_kind();
SamplerKind heun_kind();
SamplerKind rk4_kind();
SamplerKind adams_bashforth_kind();
SamplerKind multistep_kind();
SamplerKind dormand_prince_kind();
SamplerKind diffusion_kind();
SamplerKind erasure_kind();

const std::vector<SamplerKind>& sampler_kinds() {
  static const std::vector<SamplerKind> all{
      euler_kind(),     midpoint_kind(),       heun_kind(),      rk4_kind(),     adams_bashforth_kind(),
      multistep_kind(), dormand_prince_kind(), diffusion_kind(), erasure_kind(),
  };
  return all;
}

const SamplerKind& sampler_kind(const std::string& name) { return find_kind(sampler_kinds(), name, "sampler"); }

}  // namespace segre
