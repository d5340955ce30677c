#include "segre/report/evaluation_figures.h"

#include <algorithm>
#include <cmath>

#include "segre/core/error.h"
#include "segre/report/style.h"

namespace segre {
namespace {

using nlohmann::json;

constexpr int64_t kMostPoints = 4000;  // in a scatter chart
constexpr int64_t kMostBins = 60;

double rounded(double value) { return std::round(value * 1e5) / 1e5; }

// Shares of distances [B] in bins of `width`, starting at `first`.
json histogram(const torch::Tensor& distances, int64_t first, int64_t width, int64_t n_bins, const char* name,
               const char* colour) {
  const auto counts = ((distances - first).div(width, "floor")).bincount({}, n_bins).to(torch::kFloat64);
  json trace{{"type", "bar"}, {"name", name}, {"opacity", 0.6}, {"marker", {{"color", colour}}}};
  for (int64_t k = 0; k < n_bins; ++k) {
    trace["x"].push_back(static_cast<double>(first + k * width) + 0.5 * static_cast<double>(width - 1));
    trace["y"].push_back(rounded(counts[k].item<double>() / static_cast<double>(distances.numel())));
  }
  return trace;
}

std::string axis_suffix(int panel) { return panel == 0 ? "" : std::to_string(panel + 1); }

// Heat map of one value per pixel.
json map_of(const Space& space, const torch::Tensor& values, int panel, const json& colours, double low, double high) {
  const auto* value = values.data_ptr<double>();
  json z = json::array();
  const Part& image = *space.image_part();
  for (int64_t y = 0; y < image.height(); ++y) {
    json row = json::array();
    for (int64_t x = 0; x < image.width(); ++x) row.push_back(rounded(value[y * image.width() + x]));
    z.push_back(std::move(row));
  }
  const std::string suffix = axis_suffix(panel);
  const double bar_x = panel == 2 ? 1.0 : 0.62;
  return {{"type", "heatmap"},
          {"z", z},
          {"zmin", low},
          {"zmax", high},
          {"colorscale", colours},
          {"xaxis", "x" + suffix},
          {"yaxis", "y" + suffix},
          {"showscale", panel > 0},
          {"colorbar", {{"x", bar_x}, {"thickness", 12}, {"len", 0.9}}}};
}

// The title above a panel centred at x.
json title(const std::string& text, double x) {
  return {{"text", text},      {"x", x}, {"y", 1.08}, {"xref", "paper"}, {"yref", "paper"}, {"xanchor", "center"},
          {"showarrow", false}};
}

// One panel of share_scatter.
void add_scatter(Figure& figure, const FrequencyComparison& found, const std::string& what, int panel, int n_panels) {
  const std::string suffix = axis_suffix(panel);
  json points{{"type", "scatter"},     {"mode", "markers"},
              {"name", what},          {"xaxis", "x" + suffix},
              {"yaxis", "y" + suffix}, {"marker", {{"color", kSampleColour}, {"size", 4}, {"opacity", 0.5}}}};
  const int64_t S = found.samples.numel();
  const int64_t step = (S + kMostPoints - 1) / kMostPoints;
  for (int64_t k = 0; k < S; k += step) {
    points["x"].push_back(rounded(found.held_out[k].item<double>()));
    points["y"].push_back(rounded(found.samples[k].item<double>()));
  }
  figure.traces.push_back({{"type", "scatter"},
                           {"mode", "lines"},
                           {"hoverinfo", "skip"},
                           {"x", {0, 1}},
                           {"y", {0, 1}},
                           {"xaxis", "x" + suffix},
                           {"yaxis", "y" + suffix},
                           {"line", {{"color", "#8a94a3"}, {"width", 1}}}});
  figure.traces.push_back(std::move(points));
  const double left = (panel + 0.04) / std::max(n_panels, 3);  // a single panel stays square
  const double right = (panel + 0.92) / std::max(n_panels, 3);
  json across{{"title", {{"text", "share in held-out items"}}}, {"range", {-0.02, 1.02}}, {"gridcolor", "#e6eaef"}};
  across["domain"] = {left, right};
  across["anchor"] = "y" + suffix;
  json up{{"range", {-0.02, 1.02}}, {"gridcolor", "#e6eaef"}, {"anchor", "x" + suffix}};
  if (panel == 0) up["title"] = {{"text", "share in samples"}};
  figure.layout["xaxis" + suffix] = std::move(across);
  figure.layout["yaxis" + suffix] = std::move(up);
  figure.layout["annotations"].push_back(title(what, 0.5 * (left + right)));
}

}  // namespace

Figure nearest_distances(const Evaluation& evaluation) {
  const auto samples = evaluation.of_samples.distance.select(1, 0);
  const auto held_out = evaluation.of_held_out.distance.select(1, 0);
  const int64_t first = std::min(samples.min().item<int64_t>(), held_out.min().item<int64_t>());
  const int64_t range = std::max(samples.max().item<int64_t>(), held_out.max().item<int64_t>()) - first + 1;
  const int64_t width = (range + kMostBins - 1) / kMostBins;
  const int64_t n_bins = (range + width - 1) / width;
  return {json::array({histogram(held_out, first, width, n_bins, "held-out items", kTargetColour),
                       histogram(samples, first, width, n_bins, "samples", kSampleColour)}),
          {{"height", 340},
           {"barmode", "overlay"},
           {"bargap", 0.05},
           {"xaxis", {{"title", {{"text", "variables that differ from the nearest training item"}}}}},
           {"yaxis", {{"title", {{"text", "share"}}}, {"gridcolor", "#e6eaef"}}}}};
}

Figure share_scatter(const Evaluation& evaluation) {
  Figure figure{json::array(), {{"height", 420}, {"showlegend", false}, {"annotations", json::array()}}};
  const auto n_panels = static_cast<int>(1 + evaluation.pairs.size());
  add_scatter(figure, evaluation.marginals, "single variables", 0, n_panels);
  for (int k = 1; k < n_panels; ++k) {
    const PairComparison& pairs = evaluation.pairs[static_cast<size_t>(k - 1)];
    add_scatter(figure, pairs.frequencies, pairs.pairs.name, k, n_panels);
  }
  return figure;
}

Figure marginal_maps(const Space& space, const FrequencyComparison& marginals, int64_t background) {
  const int64_t c = space.max_labels();
  const auto off = [&](const torch::Tensor& shares) {
    return (1.0 - shares.view({-1, c}).select(1, background)).contiguous();
  };
  const auto samples = off(marginals.samples);
  const auto held_out = off(marginals.held_out);
  const auto difference = (samples - held_out).contiguous();
  const double largest = std::max({samples.max().item<double>(), held_out.max().item<double>(), 1e-3});
  const double reach = std::max(difference.abs().max().item<double>(), 1e-3);
  json heat = json::array();
  const int last = static_cast<int>(std::size(kHeatColours)) - 1;
  for (int k = 0; k <= last; ++k) heat.push_back({static_cast<double>(k) / last, kHeatColours[k]});
  const json signed_scale = json::array({{0, kTargetColour}, {0.5, "#ffffff"}, {1, kSampleColour}});
  json layout{{"height", 360}, {"annotations", json::array()}};
  const char* const titles[] = {"samples", "held-out items", "difference"};
  const double lefts[] = {0.0, 0.32, 0.70};
  for (int k = 0; k < 3; ++k) {
    const std::string suffix = axis_suffix(k);
    layout["xaxis" + suffix] = {
        {"domain", {lefts[k], lefts[k] + 0.28}}, {"anchor", "y" + suffix}, {"constrain", "domain"}, {"visible", false}};
    layout["yaxis" + suffix] = {
        {"anchor", "x" + suffix}, {"scaleanchor", "x" + suffix}, {"autorange", "reversed"}, {"visible", false}};
    layout["annotations"].push_back(title(titles[k], lefts[k] + 0.14));
  }
  return {json::array({map_of(space, samples, 0, heat, 0.0, largest), map_of(space, held_out, 1, heat, 0.0, largest),
                       map_of(space, difference, 2, signed_scale, -reach, reach)}),
          layout};
}

Picture neighbour_picture(const EvaluationData& data, const Evaluation& evaluation, const torch::Tensor& chosen) {
  if (!evaluation.of_samples.row.defined()) fail("there are no nearest training items to draw");
  const int64_t k = evaluation.of_samples.row.size(1);
  const auto rows = evaluation.of_samples.row.index_select(0, chosen).reshape({-1});
  const auto near = data.train.index_select(0, rows).to(torch::kInt64).view({chosen.numel(), k, -1});
  const auto samples = data.samples.index_select(0, chosen).to(torch::kInt64).unsqueeze(1);
  const auto images = torch::cat({samples, near}, 1).view({chosen.numel() * (k + 1), -1});
  const bool wide = data.space.image_part()->is_wide();
  return draw_label_grid(data.space, images, (wide ? 1 : 2) * (k + 1), k + 1);
}

}  // namespace segre
