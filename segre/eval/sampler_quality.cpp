#include "segre/eval/sampler_quality.h"

#include <cmath>
#include <limits>

#include "segre/core/error.h"
#include "segre/eval/intervals.h"
#include "segre/eval/metric_text.h"

namespace segre {
namespace {

constexpr int64_t kBudgets[] = {4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 64, 100, 200};
constexpr double kTolerances[] = {0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5};

int64_t evaluations_of(const SamplerKind& sampler, const Path& path, int64_t steps) {
  if (sampler.counts_steps) return steps;
  std::vector<double> times;
  for (int64_t k = 0; k <= steps; ++k)
    times.push_back(path.time_at(1.0) * static_cast<double>(k) / static_cast<double>(steps));
  return n_evaluations(sampler.plan(path, times));
}

// Number of steps of a sampler that takes exactly this many evaluations; 0 if there is none.
int64_t steps_for(const SamplerKind& sampler, const Path& path, int64_t evaluations) {
  for (int64_t steps = 1; steps <= evaluations; ++steps)
    if (evaluations_of(sampler, path, steps) == evaluations) return steps;
  return 0;
}

struct Drawn {
  torch::Tensor labels;
  SamplerRun run;
};

Drawn draw(const Flow& flow, const SampleOptions& options, const QualityOptions& quality) {
  const Samples samples = Sampler(flow, options, quality.seed).draw(0, quality.count);
  const double evaluations = static_cast<double>(samples.n_evaluations) / static_cast<double>(quality.count);
  return {samples.labels, {options, evaluations, 0.0, summarise_labels(flow.space, samples.labels)}};
}

// Compares a run's labels with the reference's, both [count, n].
void compare(Drawn& drawn, const torch::Tensor& reference) {
  SamplerRun& run = drawn.run;
  if (!sampler_kind(run.options.sampler).deterministic) {
    run.disagreement = std::numeric_limits<double>::quiet_NaN();
    return;
  }
  const auto of_samples = (drawn.labels != reference).to(torch::kFloat64).mean(1);  // [count]
  const double p = of_samples.mean().item<double>();
  const auto n_samples = static_cast<double>(reference.size(0));
  const auto n_labels = static_cast<double>(reference.numel());
  run.disagreement = p;
  if (n_samples >= 2) {
    const Estimate estimate = mean_share_estimate(of_samples);
    run.disagreement_low = estimate.low;
    run.disagreement_high = estimate.high;
  }
  if (p == 0.0 || p == 1.0 || n_samples < 2) return;  // does not show how many labels differ together
  // The number of independent labels whose share would have the variance observed between samples.
  const double variance = of_samples.var().item<double>() / n_samples;
  run.n_compared = std::min(n_labels, std::max(n_samples, p * (1 - p) / variance));
}

// A run without differences does not show how many labels of a sample differ together, so assume as many as in the run
// with the fewest differences. If no run has any, all labels of a sample may differ together.
void borrow_clumps(SamplerQuality& quality, double n_samples) {
  const SamplerRun* nearest = nullptr;
  for (const SamplerRun& run : quality.runs)
    if (run.n_compared > 0.0 && (nearest == nullptr || run.disagreement < nearest->disagreement)) nearest = &run;
  const double n_compared = nearest != nullptr ? nearest->n_compared : n_samples;
  for (SamplerRun& run : quality.runs)
    if (run.n_compared == 0.0) run.n_compared = n_compared;
}

SampleOptions reference_options(const QualityOptions& options) {
  SampleOptions reference = options.sample;
  reference.sampler = "rk4";
  reference.steps = options.reference_steps;
  return reference;
}

// Approximate number of evaluations of a setting, for the progress display only.
double expected_evaluations(const SampleOptions& options, const Path& path) {
  const SamplerKind& kind = sampler_kind(options.sampler);
  if (kind.adaptive()) return 20.0 * std::pow(options.tolerance, -0.2);
  return static_cast<double>(evaluations_of(kind, path, options.steps));
}

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

std::vector<SampleOptions> quality_settings(const SamplerKind& sampler, const Path& path,
                                            const QualityOptions& options) {
  std::vector<SampleOptions> settings;
  SampleOptions setting = options.sample;
  setting.sampler = sampler.name;
  if (sampler.adaptive()) {
    for (const double tolerance : kTolerances) {
      setting.tolerance = tolerance;
      settings.push_back(setting);
    }
    return settings;
  }
  for (const int64_t budget : kBudgets) {
    setting.steps = steps_for(sampler, path, budget);
    if (setting.steps > 0 && budget <= options.most_evaluations) settings.push_back(setting);
  }
  return settings;
}

SamplerQuality measure_samplers(const Flow& flow, const QualityOptions& options, const WorkCallbacks& callbacks) {
  const SampleOptions many_steps = reference_options(options);
  std::vector<SampleOptions> settings;
  double total = expected_evaluations(many_steps, *flow.path);
  for (const SamplerKind& sampler : sampler_kinds())
    for (const SampleOptions& setting : quality_settings(sampler, *flow.path, options)) {
      // Filling in needs a flow that accepts known labels, and at most one evaluation per variable.
      if (sampler.counts_steps && (!flow.from_evidence || setting.steps > flow.space.n_variables())) continue;
      settings.push_back(setting);
      total += expected_evaluations(setting, *flow.path);
    }
  double done = 0.0;
  const auto tell = [&](const SampleOptions& next) {
    constexpr int64_t kParts = 1000;
    callbacks.report({"samplers", static_cast<int64_t>(kParts * done / total), kParts, next.sampler});
    done += expected_evaluations(next, *flow.path);
  };

  tell(many_steps);
  const Drawn reference = draw(flow, many_steps, options);
  SamplerQuality quality{options.count, reference.run, {}};
  std::string finished;  // a sampler whose remaining settings would take too many evaluations
  for (const SampleOptions& setting : settings) {
    tell(setting);
    if (setting.sampler == finished) continue;
    Drawn drawn = draw(flow, setting, options);
    if (drawn.run.n_evaluations > static_cast<double>(options.most_evaluations)) {
      finished = setting.sampler;
      continue;
    }
    compare(drawn, reference.labels);
    quality.runs.push_back(std::move(drawn.run));
  }
  borrow_clumps(quality, static_cast<double>(options.count));
  return quality;
}

QualityTable quality_table(const SamplerQuality& quality, const LabelSummary* data) {
  QualityTable table{{"sampler", "steps", "tolerance", "evaluations", "disagreement", "share_error", "nonzero_mean",
                      "nonzero_sd", "neighbours_differ", "disagreement_low", "disagreement_high"},
                     {}};
  const auto number = [](double value) { return std::isnan(value) ? std::string() : concat(value); };
  const auto add = [&](const std::string& name, const SamplerRun* run, double disagreement,
                       const LabelSummary& summary) {
    const bool adaptive = run != nullptr && sampler_kind(run->options.sampler).adaptive();
    table.rows.push_back(
        {name, run == nullptr || adaptive ? "" : std::to_string(run->options.steps),
         adaptive ? number(run->options.tolerance) : "", run == nullptr ? "" : number(run->n_evaluations),
         number(disagreement), number(share_error(summary, quality.reference.summary)), number(summary.nonzero_mean),
         number(summary.nonzero_sd), number(summary.neighbours_differ),
         run == nullptr ? "" : number(run->disagreement_low), run == nullptr ? "" : number(run->disagreement_high)});
  };
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  if (data != nullptr) add("data", nullptr, kNone, *data);
  add("reference", &quality.reference, 0.0, quality.reference.summary);
  for (const SamplerRun& run : quality.runs) add(run.options.sampler, &run, run.disagreement, run.summary);
  return table;
}

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
