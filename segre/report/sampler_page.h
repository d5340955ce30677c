#pragma once

#include "segre/eval/sampler_knee.h"
#include "segre/report/page.h"

namespace segre {

/// Context of a comparison of samplers, for its page.
struct SamplerPageOptions {
  std::string run;              ///< the model's name
  int64_t reference_steps = 0;  ///< of rk4
  double threshold = 0.0;       ///< share of labels that may differ from the reference
  int64_t n_variables = 0;
};

/// Quality against evaluations: curves, knees and the table of all runs. `data` may be nullptr.
Page sampler_page(const SamplerQuality& quality, const LabelSummary* data, const SamplerPageOptions& options);

}  // namespace segre
