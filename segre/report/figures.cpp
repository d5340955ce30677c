#include "segre/report/figures.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "segre/core/error.h"
#include "segre/path/simplex.h"
#include "segre/report/style.h"

namespace segre {
namespace {

using nlohmann::json;

// A regular tetrahedron; vertex k is the labeling k = 2 y1 + y2.
constexpr std::array<std::array<double, 3>, 4> kVertices{{{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}}};

// Joint probabilities [4] -> point in space, rounded to screen precision.
std::array<double, 3> place(const double* p) {
  std::array<double, 3> out{};
  for (int axis = 0; axis < 3; ++axis) {
    for (int k = 0; k < 4; ++k) out[axis] += p[k] * kVertices[k][axis];
    out[axis] = std::round(out[axis] * 1e4) / 1e4;
  }
  return out;
}

void append(json& trace, const std::array<double, 3>& point) {
  trace["x"].push_back(point[0]);
  trace["y"].push_back(point[1]);
  trace["z"].push_back(point[2]);
}

void append_gap(json& trace) {
  for (const char* axis : {"x", "y", "z"}) trace[axis].push_back(nullptr);
}

json edges() {
  json trace{{"type", "scatter3d"},
             {"mode", "lines"},
             {"hoverinfo", "skip"},
             {"showlegend", false},
             {"line", {{"color", "#8a94a3"}, {"width", 3}}}};
  for (int a = 0; a < 4; ++a)
    for (int b = a + 1; b < 4; ++b) {
      append(trace, kVertices[a]);
      append(trace, kVertices[b]);
      append_gap(trace);
    }
  return trace;
}

json corner_names() {
  json trace{{"type", "scatter3d"},
             {"mode", "text"},
             {"hoverinfo", "skip"},
             {"showlegend", false},
             {"text", {"(0,0)", "(0,1)", "(1,0)", "(1,1)"}}};
  for (const auto& vertex : kVertices) append(trace, {1.12 * vertex[0], 1.12 * vertex[1], 1.12 * vertex[2]});
  return trace;
}

json factorising_surface(double opacity) {
  constexpr int kSteps = 24;
  json trace{{"type", "surface"},
             {"name", "factorising distributions"},
             {"showscale", false},
             {"opacity", opacity},
             {"hoverinfo", "skip"},
             {"showlegend", true},
             {"colorscale", json::array({{0, "#b9c6d6"}, {1, "#b9c6d6"}})}};
  for (int i = 0; i <= kSteps; ++i) {
    json x = json::array(), y = json::array(), z = json::array();
    for (int j = 0; j <= kSteps; ++j) {
      const double a = static_cast<double>(i) / kSteps;
      const double b = static_cast<double>(j) / kSteps;
      const double p[] = {a * b, a * (1 - b), (1 - a) * b, (1 - a) * (1 - b)};
      const auto point = place(p);
      x.push_back(point[0]);
      y.push_back(point[1]);
      z.push_back(point[2]);
    }
    trace["x"].push_back(x);
    trace["y"].push_back(y);
    trace["z"].push_back(z);
  }
  return trace;
}

json marker(const double* p, const std::string& name, const std::string& colour, int size) {
  json trace{
      {"type", "scatter3d"}, {"mode", "markers"}, {"name", name}, {"marker", {{"color", colour}, {"size", size}}}};
  append(trace, place(p));
  return trace;
}

json scene_layout() {
  const json hidden{{"visible", false}};
  return {{"height", 560},
          {"margin", {{"l", 0}, {"r", 0}, {"t", 8}, {"b", 8}}},
          {"legend", {{"x", 0.01}, {"y", 0.99}}},
          {"scene",
           {{"xaxis", hidden},
            {"yaxis", hidden},
            {"zaxis", hidden},
            {"aspectmode", "cube"},
            {"camera", {{"eye", {{"x", 1.35}, {"y", 0.65}, {"z", 0.55}}}}}}}};
}

// p over all four labelings in enumeration order, zeros included.
std::array<double, 4> dense(const JointTable& target) {
  if (target.space.n_variables() != 2 || target.space.n_coordinates() != 4)
    fail("the tetrahedron needs two binary variables");
  std::array<double, 4> p{};
  for (int64_t r = 0; r < target.p.numel(); ++r)
    p[2 * target.labelings[r][0].item<int64_t>() + target.labelings[r][1].item<int64_t>()] = target.p[r].item<double>();
  return p;
}

json heat_scale() {
  json scale = json::array();
  const int last = static_cast<int>(std::size(kHeatColours)) - 1;
  for (int k = 0; k <= last; ++k) scale.push_back({static_cast<double>(k) / last, kHeatColours[k]});
  return scale;
}

// [rows of y][columns of x] from one value per labeling of the table.
json grid_of(const JointTable& target, const torch::Tensor& values) {
  auto grid = torch::zeros({target.space.n_labels(1), target.space.n_labels(0)}, torch::kFloat64);
  grid.index_put_({target.labelings.select(1, 1), target.labelings.select(1, 0)}, values);
  json rows = json::array();
  for (int64_t y = 0; y < grid.size(0); ++y) {
    json row = json::array();
    for (int64_t x = 0; x < grid.size(1); ++x) row.push_back(std::round(grid[y][x].item<double>() * 1e7) / 1e7);
    rows.push_back(std::move(row));
  }
  return rows;
}

json heatmap(const json& z, double largest, int panel, bool show_numbers) {
  const std::string suffix = panel == 0 ? "" : "2";
  json trace{{"type", "heatmap"},
             {"z", z},
             {"zmin", 0},
             {"zmax", largest},
             {"colorscale", heat_scale()},
             {"xaxis", "x" + suffix},
             {"yaxis", "y" + suffix},
             {"showscale", panel == 1},
             {"colorbar", {{"title", {{"text", "probability"}}}, {"thickness", 14}}}};
  if (show_numbers) trace["texttemplate"] = "%{z:.4f}";
  return trace;
}

}  // namespace

Figure tetrahedron(const JointTable& target) {
  const auto p = dense(target);
  const double centre[] = {0.25, 0.25, 0.25, 0.25};
  return {json::array({edges(), corner_names(), factorising_surface(0.85),
                       marker(p.data(), "target p", kTargetColour, 7), marker(centre, "barycentre", "#c0392b", 5)}),
          scene_layout()};
}

Figure tetrahedron_with_flow(const JointTable& target, const torch::Tensor& trajectories) {
  const auto p = dense(target);
  const auto T =
      log_segre_map(target.space, trajectories).exp().to(torch::kFloat64).contiguous();  // [times, curves, 4]
  const int64_t n_times = T.size(0);
  const int64_t n_curves = T.size(1);
  const auto corner = T[n_times - 1].argmax(-1);
  json traces =
      json::array({edges(), corner_names(), factorising_surface(0.25), marker(p.data(), "target p", kTargetColour, 7)});
  for (int64_t k = 0; k < 4; ++k) {
    json trace{{"type", "scatter3d"},
               {"mode", "lines"},
               {"hoverinfo", "skip"},
               {"line", {{"color", kCornerColours[k]}, {"width", 1.5}}},
               {"opacity", 0.55}};
    int64_t n_here = 0;
    for (int64_t b = 0; b < n_curves; ++b) {
      if (corner[b].item<int64_t>() != k) continue;
      ++n_here;
      for (int64_t t = 0; t < n_times; ++t) append(trace, place(T.data_ptr<double>() + (t * n_curves + b) * 4));
      append_gap(trace);
    }
    trace["name"] = concat("ends in (", k / 2, ",", k % 2, "): ", n_here, " of ", n_curves);
    if (n_here > 0) traces.push_back(std::move(trace));
  }
  return {traces, scene_layout()};
}

Figure histograms(const JointTable& target, const LabelingCounts& counts) {
  const auto sampled = counts.counts(target.labelings).to(torch::kFloat64) / static_cast<double>(counts.total());
  const double largest = std::max(target.p.max().item<double>(), sampled.max().item<double>());
  const bool small = target.space.n_coordinates() <= 16;
  const auto title = [](const char* text, double x) {
    return json{{"text", text},      {"x", x}, {"y", 1.06}, {"xref", "paper"}, {"yref", "paper"}, {"xanchor", "center"},
                {"showarrow", false}};
  };
  const json axis_x{
      {"title", {{"text", target.space.variable_name(0)}}}, {"dtick", small ? 1 : 30}, {"constrain", "domain"}};
  json x1 = axis_x, x2 = axis_x;
  x1["domain"] = {0.0, 0.46};
  x2["domain"] = {0.54, 1.0};
  json y1{{"title", {{"text", target.space.variable_name(1)}}}, {"dtick", small ? 1 : 30}, {"scaleanchor", "x"}};
  json y2 = y1;
  y2["scaleanchor"] = "x2";
  y2["anchor"] = "x2";
  x2["anchor"] = "y2";
  return {json::array({heatmap(grid_of(target, target.p), largest, 0, small),
                       heatmap(grid_of(target, sampled), largest, 1, small)}),
          {{"height", small ? 400 : 500},
           {"xaxis", x1},
           {"xaxis2", x2},
           {"yaxis", y1},
           {"yaxis2", y2},
           {"annotations", {title("target", 0.23), title("samples", 0.77)}}}};
}

Figure loss_curves(const std::vector<LossCurve>& curves) {
  json traces = json::array();
  json layout{{"height", 300}, {"showlegend", false}, {"annotations", json::array()}};
  const auto n = static_cast<double>(curves.size());
  for (size_t k = 0; k < curves.size(); ++k) {
    const std::string suffix = k == 0 ? "" : std::to_string(k + 1);
    traces.push_back({{"type", "scatter"},
                      {"mode", "lines"},
                      {"x", curves[k].steps},
                      {"y", curves[k].nats},
                      {"name", curves[k].name},
                      {"xaxis", "x" + suffix},
                      {"yaxis", "y" + suffix},
                      {"line", {{"color", kTargetColour}, {"width", 1.5}}}});
    traces.push_back({{"type", "scatter"},
                      {"mode", "lines"},
                      {"x", {0.0, curves[k].steps.back()}},
                      {"y", {curves[k].entropy, curves[k].entropy}},
                      {"name", "entropy"},
                      {"xaxis", "x" + suffix},
                      {"yaxis", "y" + suffix},
                      {"line", {{"color", kSampleColour}, {"width", 1.5}, {"dash", "dash"}}}});
    const double left = (static_cast<double>(k) + 0.02) / n;
    const double right = (static_cast<double>(k) + 0.84) / n;
    layout["xaxis" + suffix] = {
        {"domain", {left, right}}, {"anchor", "y" + suffix}, {"title", {{"text", "step"}}}, {"nticks", 5}};
    layout["yaxis" + suffix] = {{"anchor", "x" + suffix},
                                {"gridcolor", "#e6eaef"},
                                {"nticks", 6},
                                {"range", {curves[k].entropy * 0.98, curves[k].entropy * 1.12}}};
    if (k == 0) layout["yaxis"]["title"] = {{"text", "bound on -log p, nats"}};
    layout["annotations"].push_back({{"text", concat(curves[k].name, " (dashed: entropy)")},
                                     {"x", 0.5 * (left + right)},
                                     {"y", 1.1},
                                     {"xref", "paper"},
                                     {"yref", "paper"},
                                     {"xanchor", "center"},
                                     {"showarrow", false}});
  }
  return {traces, layout};
}

}  // namespace segre
