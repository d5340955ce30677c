#pragma once

#include <optional>

#include "segre/flow/draw.h"
#include "segre/runs/load_run.h"
#include "segre/tasks/condition.h"

namespace segre {

/// What to draw.
struct SampleRequest {
  int64_t count = 1;
  SampleOptions sample{};
  uint64_t seed = 1;
  Condition given{};    ///< what all samples satisfy
  bool numbers = true;  ///< as JSON, bins are values drawn within them, not their names
};

/// The cost of sampling a run and, if known, the quality of the samples.
struct SampleRunResult {
  DrawTotals totals;
  double t1 = 0.0;       ///< when labels were read
  double seconds = 0.0;  ///< wall time, including `use`
  /// Distance of the samples from the exact distribution that the run learned, if known: see known_joint. Rank 0 alone
  /// measures it.
  struct TotalVariation {
    double value;
    double floor;  ///< average for exact samples
  };
  std::optional<TotalVariation> total_variation{};
};

/// Samples as a result.
struct Sampled {
  Space space;
  SampleRequest request;
  torch::Tensor labels;  ///< [count, n] of label_type; of several ranks rank 0 alone has them
  SampleRunResult cost;
  std::optional<ConditionReport> condition{};  ///< of the request, if it states one
  std::vector<std::string> notes{};            ///< what the caller should know about the request, each once
};

/// Draws samples 0 ... count - 1 of a run with a sampler of it, given what is known of them if anything is, in
/// batches and passes each to use(labels [B, n], index of the first), which only rank 0 calls. Sample k is a
/// function of the run, the sampler's options and seed, and k.
SampleRunResult sample_run(const LoadedRun& run, const Sampler& sampler, int64_t count,
                           const std::function<void(const torch::Tensor& labels, int64_t first)>& use,
                           const WorkCallbacks& callbacks = {}, const GivenRows& given = {});

/// Draws the same samples in parts of about 1,000 rows times `blocks`, each of which is passed to `use` by the rank
/// that drew it: see draw_parts. Measures no total variation.
SampleRunResult sample_parts(const LoadedRun& run, const Sampler& sampler, int64_t count, int64_t blocks,
                             const std::function<void(const torch::Tensor& labels, int64_t first)>& use,
                             const WorkCallbacks& callbacks = {}, const GivenRows& given = {});

}  // namespace segre
