#include "segre/eval/sampler_knee.h"

#include <cmath>

#include "segre/core/error.h"
#include "segre/eval/intervals.h"
#include "segre/eval/metric_text.h"

namespace segre {
namespace {

std::string describe(const SamplerRun& run) {
  const std::string setting = sampler_kind(run.options.sampler).adaptive() ? concat("tolerance ", run.options.tolerance)
                                                                           : concat(run.options.steps, " steps");
  std::string differ = concat(percent_text(run.disagreement), " differ");
  if (!std::isnan(run.disagreement_high))
    differ +=
        concat(" (95% interval ", percent_text(run.disagreement_low), " to ", percent_text(run.disagreement_high), ")");
  return concat(run.options.sampler, " with ", setting, ", ", run.n_evaluations, " evaluations, ", differ);
}

// Why a sampler has no knee.
std::string describe_lack(const SamplerQuality& quality, const std::string& sampler, double threshold) {
  const auto near = unconfirmed_knee(quality, sampler, threshold);
  if (!near) return concat(sampler, ": at none of the settings tried");
  const auto needed = std::ceil(near->more_samples * static_cast<double>(quality.count));
  return concat(sampler, ": not known from ", quality.count, " samples; with ", near->run.n_evaluations,
                " evaluations ", 100.0 * near->run.disagreement, "% of the labels differ, but up to ",
                100.0 * disagreement_limit(near->run), "% may: ", static_cast<int64_t>(std::min(needed, 1e12)),
                " samples would decide");
}

}  // namespace

double disagreement_limit(const SamplerRun& run) {
  if (std::isnan(run.disagreement)) return run.disagreement;
  return share_estimate(run.disagreement * run.n_compared, run.n_compared).high;
}

std::optional<SamplerRun> knee(const SamplerQuality& quality, const std::string& sampler, double threshold) {
  std::optional<SamplerRun> found;
  for (const SamplerRun& run : quality.runs) {
    if (run.options.sampler != sampler) continue;
    if (!(run.disagreement <= threshold)) {
      found.reset();
    } else if (!found && disagreement_limit(run) <= threshold) {
      found = run;
    }
  }
  return found;
}

std::optional<Unconfirmed> unconfirmed_knee(const SamplerQuality& quality, const std::string& sampler,
                                            double threshold) {
  std::optional<Unconfirmed> found;
  for (const SamplerRun& run : quality.runs) {
    if (run.options.sampler != sampler) continue;
    if (!(run.disagreement <= threshold)) found.reset();
    if (!(run.disagreement < threshold)) continue;
    const double more = total_for_share_below(run.disagreement, threshold) / run.n_compared;
    if (!found || more < found->more_samples) found = Unconfirmed{run, more};
  }
  return found;
}

std::optional<SamplerRun> best_knee(const SamplerQuality& quality, double threshold) {
  std::optional<SamplerRun> best;
  for (const SamplerKind& sampler : sampler_kinds()) {
    const auto found = knee(quality, sampler.name, threshold);
    if (found && (!best || found->n_evaluations < best->n_evaluations)) best = found;
  }
  return best;
}

std::vector<std::string> describe_knees(const SamplerQuality& quality, double threshold) {
  std::vector<std::string> lines;
  for (const SamplerKind& sampler : sampler_kinds()) {
    if (!sampler.deterministic) continue;
    const auto found = knee(quality, sampler.name, threshold);
    lines.push_back(found ? describe(*found) : describe_lack(quality, sampler.name, threshold));
  }
  const auto best = best_knee(quality, threshold);
  lines.push_back(best ? concat("fewest: ", describe(*best)) : "no sampler is known to reach this");
  return lines;
}

}  // namespace segre
