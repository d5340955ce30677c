#pragma once

#include <optional>

#include "segre/eval/sampler_quality.h"

namespace segre {

/// Upper end of the 95% interval of a run's disagreement; NaN for sde.
double disagreement_limit(const SamplerRun& run);

/// The point at which a sampler is as good as the reference: its cheapest run whose disagreement is confidently at most
/// `threshold` (the upper end of its interval is) and is not exceeded beyond `threshold` by any more expensive run.
/// None if there is no such run, and for sde.
std::optional<SamplerRun> knee(const SamplerQuality& quality, const std::string& sampler, double threshold);

/// A run that would be the knee if more samples confirmed its disagreement.
struct Unconfirmed {
  SamplerRun run;
  double more_samples;  ///< factor on the number of samples at which the interval would end at the threshold
};

/// For a sampler without a knee, the run that needs the fewest additional samples; none if all disagree too much.
std::optional<Unconfirmed> unconfirmed_knee(const SamplerQuality& quality, const std::string& sampler,
                                            double threshold);

/// The sampler whose knee takes the fewest evaluations.
std::optional<SamplerRun> best_knee(const SamplerQuality& quality, double threshold);

/// One line per deterministic sampler on its knee, or on why it is unknown, and one on the best knee.
std::vector<std::string> describe_knees(const SamplerQuality& quality, double threshold);

}  // namespace segre
