#include "segre/report/sampler_page.h"

#include <algorithm>
#include <cmath>

#include "segre/core/error.h"

namespace segre {
namespace {

using nlohmann::json;

constexpr const char* kColours[] = {"#8a94a3", "#1f5fbf", "#3d8bc9", "#1b9e77",
                                    "#d9822b", "#c8502a", "#7a5fc0", "#c2437c"};
constexpr double kFewestEvaluations = 3.5;
constexpr double kMostEvaluations = 220.0;

// One curve per sampler; value(run) is its height.
template <class Value>
json curves(const SamplerQuality& quality, bool with_stochastic, Value&& value) {
  json traces = json::array();
  for (size_t k = 0; k < sampler_kinds().size(); ++k) {
    if (!with_stochastic && !sampler_kinds()[k].deterministic) continue;
    const std::string& sampler = sampler_kinds()[k].name;
    json trace{{"type", "scatter"},      {"mode", "lines+markers"},
               {"name", sampler},        {"x", json::array()},
               {"y", json::array()},     {"line", {{"color", kColours[k % std::size(kColours)]}, {"width", 1.8}}},
               {"marker", {{"size", 5}}}};
    for (const SamplerRun& run : quality.runs) {
      if (run.options.sampler != sampler) continue;
      trace["x"].push_back(run.n_evaluations);
      trace["y"].push_back(value(run));
    }
    traces.push_back(std::move(trace));
  }
  return traces;
}

json level(const std::string& name, double height, const char* dash) {
  return {{"type", "scatter"},     {"mode", "lines"},
          {"name", name},          {"x", {kFewestEvaluations, kMostEvaluations}},
          {"y", {height, height}}, {"line", {{"color", "#1d2430"}, {"width", 1.2}, {"dash", dash}}}};
}

json layout(const char* y_title, const char* y_type) {
  return {{"height", 460},
          {"xaxis",
           {{"type", "log"},
            {"title", {{"text", "evaluations of the network per sample"}}},
            {"tickvals", {4, 6, 8, 12, 16, 24, 32, 64, 100, 200}},
            {"gridcolor", "#e6eaef"}}},
          {"yaxis", {{"type", y_type}, {"title", {{"text", y_title}}}, {"gridcolor", "#e6eaef"}}}};
}

}  // namespace

Page sampler_page(const SamplerQuality& quality, const LabelSummary* data, const SamplerPageOptions& options) {
  Page page("Samplers: quality against evaluations");
  page.text(concat(quality.count, " samples of ", options.run, " by every sampler, from the same noise, compared with ",
                   options.reference_steps, " steps of rk4."));
  page.heading("Labels that differ from the reference");
  const double smallest = 0.5 / static_cast<double>(quality.count * options.n_variables);
  const Figure disagreement = disagreement_curves(quality, options.threshold, smallest);
  page.chart(disagreement.traces, disagreement.layout);
  page.caption(concat("Lower is better. Runs without any difference are drawn at half a label, ", smallest,
                      ". A sampler whose curve stays below the dashed line is as good as the reference:"));
  for (const std::string& line : describe_knees(quality, options.threshold)) page.text(line);
  page.heading("Labels that are not 0");
  const Figure nonzero = nonzero_curves(quality, data);
  page.chart(nonzero.traces, nonzero.layout);
  page.caption(
      concat("Closer to the reference is better. sde draws different samples: their mean scatters about it by ",
             quality.reference.summary.nonzero_sd * std::sqrt(2.0 / static_cast<double>(quality.count)),
             " (one standard deviation)."));
  page.heading("All runs");
  const QualityTable table = quality_table(quality, data);
  page.table(table.header, table.rows);
  return page;
}

Figure disagreement_curves(const SamplerQuality& quality, double threshold, double smallest) {
  json traces = curves(quality, /*with_stochastic=*/false,
                       [&](const SamplerRun& run) { return std::max(run.disagreement, smallest); });
  traces.push_back(level("threshold", threshold, "dash"));
  return {traces, layout("share of labels that differ", "log")};
}

Figure nonzero_curves(const SamplerQuality& quality, const LabelSummary* data) {
  json traces =
      curves(quality, /*with_stochastic=*/true, [](const SamplerRun& run) { return run.summary.nonzero_mean; });
  traces.push_back(level("reference", quality.reference.summary.nonzero_mean, "dash"));
  if (data != nullptr) traces.push_back(level("data", data->nonzero_mean, "dot"));
  return {traces, layout("labels that are not 0, per item", "linear")};
}

}  // namespace segre
