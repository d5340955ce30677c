#pragma once

#include "segre/eval/sampler_quality.h"
#include "segre/report/figures.h"

namespace segre {

/// Disagreement with the reference against evaluations, both logarithmic, one curve per deterministic sampler, with the
/// threshold as a line. Runs without any difference are drawn at `smallest`, half a label among all those sampled.
Figure disagreement_curves(const SamplerQuality& quality, double threshold, double smallest);

/// The mean number of labels that are not 0 against evaluations, with the reference's and, if given, the data's.
Figure nonzero_curves(const SamplerQuality& quality, const LabelSummary* data);

}  // namespace segre
