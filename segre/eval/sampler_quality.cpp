#include "segre/eval/sampler_quality.h"

#include <cmath>
#include <limits>

#include "segre/core/error.h"
#include "segre/eval/intervals.h"

namespace segre {
namespace {

constexpr int64_t kBudgets[] = {4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 64, 100, 200};
constexpr double kTolerances[] = {0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5};

// Steps of a sampler that take this many evaluations, or 0 where no number does.
int64_t steps_for(const std::string& sampler, int64_t evaluations) {
  if (sampler == "ab2") return evaluations - 1;  // the first step takes two
  if (sampler == "multistep" || sampler == "sde") return evaluations;
  const int per_step = stepper(sampler).n_evaluations;
  return evaluations % per_step == 0 ? evaluations / per_step : 0;
}

// Share of pairs beside and below each other whose labels differ.
double differing_neighbours(const Space& space, const torch::Tensor& labels) {
  if (space.layout() != Layout::image) return std::numeric_limits<double>::quiet_NaN();
  const int64_t height = space.shape()[0];
  const int64_t width = space.shape()[1];
  const auto images = labels.view({-1, height, width});
  double differ = 0.0;
  double pairs = 0.0;
  for (const int64_t axis : {1, 2}) {
    const int64_t length = images.size(axis);
    const auto pair = images.narrow(axis, 1, length - 1) != images.narrow(axis, 0, length - 1);
    differ += pair.sum().item<double>();
    pairs += static_cast<double>(pair.numel());
  }
  return pairs > 0.0 ? differ / pairs : std::numeric_limits<double>::quiet_NaN();
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

// Sets what a run's labels say against the reference's, [count, n] both.
void compare(Drawn& drawn, const torch::Tensor& reference) {
  SamplerRun& run = drawn.run;
  if (!is_deterministic(run.options.sampler)) {
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
  if (p == 0.0 || p == 1.0 || n_samples < 2) return;  // says nothing about how many differ together
  // As many independent labels as have a share of the variance seen between samples.
  const double variance = of_samples.var().item<double>() / n_samples;
  run.n_compared = std::min(n_labels, std::max(n_samples, p * (1 - p) / variance));
}

// A run without a difference does not show how many labels of a sample differ together: as many as in the run with the
// fewest differences. If no run has any, all of a sample's labels may.
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

// About how many evaluations a setting takes: for the progress shown, no more.
double expected_evaluations(const SampleOptions& options) {
  if (options.sampler == "dopri5") return 20.0 * std::pow(options.tolerance, -0.2);
  const bool known = options.sampler == "multistep" || options.sampler == "sde";
  return static_cast<double>(options.steps * (known ? 1 : stepper(options.sampler).n_evaluations));
}

}  // namespace

LabelSummary summarise_labels(const Space& space, const torch::Tensor& labels) {
  LabelSummary out;
  std::vector<int64_t> n_having(static_cast<size_t>(space.max_labels()), 0);  // variables that have a label
  for (const Block& block : space.blocks(torch::kCPU))
    for (int64_t label = 0; label < block.n_labels; ++label) n_having[static_cast<size_t>(label)] += block.n_variables;
  const auto counts = torch::bincount(labels.flatten(), {}, space.max_labels()).to(torch::kFloat64);
  for (int64_t label = 0; label < space.max_labels(); ++label)
    out.shares.push_back(counts[label].item<double>() /
                         static_cast<double>(n_having[static_cast<size_t>(label)] * labels.size(0)));
  const auto nonzero = (labels != 0).sum(1).to(torch::kFloat64);
  out.nonzero_mean = nonzero.mean().item<double>();
  out.nonzero_sd = labels.size(0) > 1 ? nonzero.std().item<double>() : 0.0;
  out.neighbours_differ = differing_neighbours(space, labels);
  return out;
}

double share_error(const LabelSummary& summary, const LabelSummary& reference) {
  double sum = 0.0;
  for (size_t k = 0; k < summary.shares.size(); ++k) sum += std::abs(summary.shares[k] - reference.shares[k]);
  return sum / static_cast<double>(summary.shares.size());
}

std::vector<SampleOptions> quality_settings(const std::string& sampler, const QualityOptions& options) {
  std::vector<SampleOptions> settings;
  SampleOptions setting = options.sample;
  setting.sampler = sampler;
  if (sampler == "dopri5") {
    for (const double tolerance : kTolerances) {
      setting.tolerance = tolerance;
      settings.push_back(setting);
    }
    return settings;
  }
  for (const int64_t budget : kBudgets) {
    setting.steps = steps_for(sampler, budget);
    if (setting.steps > 0 && budget <= options.most_evaluations) settings.push_back(setting);
  }
  return settings;
}

SamplerQuality measure_samplers(const Flow& flow, const QualityOptions& options,
                                const std::function<void(int64_t, const std::string&)>& progress) {
  const SampleOptions many_steps = reference_options(options);
  std::vector<SampleOptions> settings;
  double total = expected_evaluations(many_steps);
  for (const std::string& sampler : sampler_names())
    for (const SampleOptions& setting : quality_settings(sampler, options)) {
      settings.push_back(setting);
      total += expected_evaluations(setting);
    }
  double done = 0.0;
  const auto tell = [&](const SampleOptions& next) {
    if (progress) progress(static_cast<int64_t>(1000.0 * done / total), next.sampler);
    done += expected_evaluations(next);
  };

  tell(many_steps);
  const Drawn reference = draw(flow, many_steps, options);
  SamplerQuality quality{reference.run, {}};
  std::string finished;  // a sampler whose next settings would take too many evaluations
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
    const bool adaptive = run != nullptr && run->options.sampler == "dopri5";
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
  for (const std::string& sampler : sampler_names()) {
    const auto found = knee(quality, sampler, threshold);
    if (found && (!best || found->n_evaluations < best->n_evaluations)) best = found;
  }
  return best;
}

}  // namespace segre
