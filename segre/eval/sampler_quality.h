#pragma once

#include <functional>
#include <limits>
#include <optional>

#include "segre/sample/sampler.h"

namespace segre {

/// What a set of items looks like as a whole.
struct LabelSummary {
  std::vector<double> shares;      ///< of label 0, 1, ... among all variables that have it
  double nonzero_mean = 0.0;       ///< variables of an item whose label is not 0, on average
  double nonzero_sd = 0.0;         ///< and its standard deviation over the items
  double neighbours_differ = 0.0;  ///< share of neighbouring pixels with different labels; NaN where it is no image
};

/// Of labels [N, n], N >= 1.
LabelSummary summarise_labels(const Space& space, const torch::Tensor& labels);

/// Mean absolute difference of the labels' shares.
double share_error(const LabelSummary& summary, const LabelSummary& reference);

struct QualityOptions {
  int64_t count = 256;             ///< samples drawn by each sampler
  int64_t reference_steps = 1000;  ///< of rk4
  int64_t most_evaluations = 200;  ///< dearer settings are left out
  SampleOptions sample;            ///< stop, t1 and readout for all
  uint64_t seed = 1;
};

/// One sampler at one setting against the reference, a run of many rk4 steps from the same noise.
struct SamplerRun {
  SampleOptions options;
  double n_evaluations = 0.0;  ///< per sample, on average
  double disagreement = 0.0;   ///< share of variables whose label is not the reference's; NaN for sde, whose samples
                               ///< are others
  LabelSummary summary;
  double disagreement_low = std::numeric_limits<double>::quiet_NaN();  ///< its 95% interval, over samples; NaN: unknown
  double disagreement_high = std::numeric_limits<double>::quiet_NaN();
  double n_compared = 0.0;  ///< labels compared with the reference's, in independent ones: the labels of a sample
                            ///< differ together, so that they count for fewer
};

struct SamplerQuality {
  SamplerRun reference;
  std::vector<SamplerRun> runs;  ///< by sampler, evaluations rising
};

/// Settings of one sampler that take 4 to options.most_evaluations evaluations, at most 200 (dopri5: tolerances from
/// coarse to fine), cheapest first.
std::vector<SampleOptions> quality_settings(const std::string& sampler, const QualityOptions& options);

/// Draws options.count samples with every sampler at every setting. `progress`, where given, is told the share done
/// in thousandths and what comes next.
SamplerQuality measure_samplers(const Flow& flow, const QualityOptions& options,
                                const std::function<void(int64_t done, const std::string& next)>& progress = nullptr);

/// The runs as text, one row each, after those of the reference and of held-out data where given; what does not apply
/// is empty. The columns: sampler, steps, tolerance, evaluations (per sample), disagreement, share_error (mean absolute
/// difference to the reference's), nonzero_mean, nonzero_sd, neighbours_differ, disagreement_low and _high (the 95%
/// interval of disagreement).
struct QualityTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};
QualityTable quality_table(const SamplerQuality& quality, const LabelSummary* data);

/// Upper end of the 95% interval of a run's disagreement; NaN for sde.
double disagreement_limit(const SamplerRun& run);

/// Where a sampler is as good as the reference: its cheapest run whose disagreement is at most `threshold` beyond
/// doubt, by the upper end of its interval, and of which no dearer one disagrees more. None where no run is, and for
/// sde.
std::optional<SamplerRun> knee(const SamplerQuality& quality, const std::string& sampler, double threshold);

/// A run that would be the knee if more samples confirmed its disagreement.
struct Unconfirmed {
  SamplerRun run;
  double more_samples;  ///< how many times as many as were drawn it takes for the interval to end at the threshold
};

/// Of a sampler without a knee, the run that needs the fewest samples more; none if all disagree too much.
std::optional<Unconfirmed> unconfirmed_knee(const SamplerQuality& quality, const std::string& sampler,
                                            double threshold);

/// The sampler whose knee takes the fewest evaluations.
std::optional<SamplerRun> best_knee(const SamplerQuality& quality, double threshold);

}  // namespace segre
