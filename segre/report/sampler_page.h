#pragma once  // internal

#include "segre/eval/sampler_quality.h"
#include "segre/report/figures.h"
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

/// Disagreement with the reference against evaluations, both logarithmic, one curve per deterministic sampler, with the
/// threshold as a line. Runs without any difference are drawn at `smallest`, half a label among all those sampled.
Figure disagreement_curves(const SamplerQuality& quality, double threshold, double smallest);

/// The mean number of labels that are not 0 against evaluations, with the reference's and, if given, the data's.
Figure nonzero_curves(const SamplerQuality& quality, const LabelSummary* data);

}  // namespace segre
