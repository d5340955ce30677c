#pragma once  // internal

#include <limits>
#include <optional>

#include "segre/core/work.h"
#include "segre/eval/label_summary.h"
#include "segre/flow/sampler.h"
#include "segre/flow/sampler_kinds.h"

namespace segre {

/// What to compare.
struct QualityOptions {
  int64_t count = 256;             ///< samples drawn by each sampler
  int64_t reference_steps = 1000;  ///< of rk4
  int64_t most_evaluations = 200;  ///< more expensive settings are left out
  SampleOptions sample;            ///< stop, t1 and readout of all samplers
  uint64_t seed = 1;
};

/// One sampler at one setting, compared with the reference: a run of many rk4 steps from the same noise.
struct SamplerRun {
  SampleOptions options;
  double n_evaluations = 0.0;  ///< per sample, on average
  double disagreement = 0.0;   ///< share of variables whose label differs from the reference's; NaN for sde, whose
                               ///< samples are unrelated to it
  LabelSummary summary;
  double disagreement_low = std::numeric_limits<double>::quiet_NaN();  ///< its 95% interval, over samples; NaN: unknown
  double disagreement_high = std::numeric_limits<double>::quiet_NaN();
  double n_compared = 0.0;  ///< effective number of independent labels compared with the reference's: labels of a
                            ///< sample differ together, so they count for fewer
};

/// Result of the comparison.
struct SamplerQuality {
  int64_t count = 0;  ///< samples per sampler
  SamplerRun reference;
  std::vector<SamplerRun> runs;  ///< by sampler, with increasing evaluations
};

/// Settings of one sampler that take 4 to options.most_evaluations evaluations, at most 200 (dopri5: tolerances from
/// coarse to fine), cheapest first.
std::vector<SampleOptions> quality_settings(const SamplerKind& sampler, const Path& path,
                                            const QualityOptions& options);

/// Draws options.count samples with every sampler at every setting.
SamplerQuality measure_samplers(const Flow& flow, const QualityOptions& options, const WorkCallbacks& callbacks = {});

/// The runs as text, one row each, after the rows of held-out data (if given) and the reference; cells that do not
/// apply are empty. The columns: sampler, steps, tolerance, evaluations (per sample), disagreement, share_error (mean
/// absolute difference from the reference's), nonzero_mean, nonzero_sd, neighbours_differ, disagreement_low and _high
/// (the 95% interval of disagreement).
struct QualityTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};
QualityTable quality_table(const SamplerQuality& quality, const LabelSummary* data);

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
