#include "segre/report/table_page.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "segre/core/error.h"
#include "segre/eval/column_groups.h"
#include "segre/eval/metric_text.h"
#include "segre/io/csv.h"
#include "segre/io/files.h"
#include "segre/report/evaluation_figures.h"
#include "segre/report/evaluation_page.h"
#include "segre/report/style.h"
#include "segre/space/moment.h"

namespace segre {
namespace {

using nlohmann::json;

constexpr int64_t kAcross = 3;  // panels in a row
constexpr int64_t kPanelHeight = 232;
constexpr int64_t kMostBars = 12;       // labels of a column; the rest are one bar
constexpr int64_t kHistogramBins = 40;  // of a histogram
constexpr double kTail = 0.005;      // of the held-out numbers beyond each end of a histogram, which the end bars have
constexpr double kTall = 2.5;        // a bar so many times as high as all others is cut
constexpr size_t kLongestName = 13;  // characters of a label under a bar
constexpr int64_t kMostInMap = 40;   // columns in a map of pairs
constexpr const char* kNoBreak = "\u00a0";

double to_screen(double value) { return std::round(value * 1e5) / 1e5; }

std::string shortened(const std::string& name) {
  size_t end = 0;  // not within a character
  size_t n = 0;
  while (end < name.size() && n < kLongestName) {
    ++end;
    while (end < name.size() && (static_cast<unsigned char>(name[end]) & 0xC0u) == 0x80u) ++end;
    ++n;
  }
  return end == name.size() ? name : name.substr(0, end) + "…";
}

// Bars of one column: where they stand, and the shares of the two tables.
struct Bars {
  std::vector<std::string> names;  // of labels
  std::vector<double> at;          // of numbers: the middle of each bin
  std::vector<double> width{};
  std::vector<double> held_out, samples;
  bool are_labels() const { return at.empty(); }
};

// Shares of values in the bins between edges; values outside go to the ends.
std::vector<double> shares_in(const std::vector<double>& known, const std::vector<double>& edges) {
  std::vector<double> shares(edges.size() - 1, 0.0);
  for (const double value : known) {
    const auto above = std::upper_bound(edges.begin(), edges.end(), value) - edges.begin();
    shares[std::clamp<int64_t>(above - 1, 0, static_cast<int64_t>(shares.size()) - 1)] +=
        1.0 / static_cast<double>(known.size());
  }
  return shares;
}

// Equally wide bins; of whole numbers each has as many of them.
std::vector<double> edges_of(const ValueColumn& column, const std::vector<double>& known) {
  const auto n = static_cast<double>(known.size());
  const double low = known[static_cast<size_t>(kTail * n)];
  const double high = known[static_cast<size_t>((1.0 - kTail) * (n - 1.0))];
  if (high <= low) return {low - 0.5, low + 0.5};
  double width = (high - low) / static_cast<double>(kHistogramBins);
  const bool are_whole = column.numbers->unit == Bins::Unit::number && column.numbers->decimals == 0;
  const double start = are_whole ? low - 0.5 : low;
  if (are_whole) width = std::ceil((high - low + 1.0) / static_cast<double>(kHistogramBins));
  std::vector<double> edges{start};
  while (edges.back() < high) edges.push_back(edges.back() + width);
  return edges;
}

Bars number_bars(const ValueColumn& column, const torch::Tensor& held_out, const torch::Tensor& samples) {
  Bars bars;
  const auto real = sorted_known(held_out);
  if (real.empty()) return bars;
  const auto edges = edges_of(column, real);
  bars.held_out = shares_in(real, edges);
  const auto drawn = sorted_known(samples);
  bars.samples = drawn.empty() ? std::vector<double>(bars.held_out.size(), 0.0) : shares_in(drawn, edges);
  for (size_t k = 0; k + 1 < edges.size(); ++k) {
    bars.at.push_back(std::midpoint(edges[k], edges[k + 1]));
    bars.width.push_back(edges[k + 1] - edges[k]);
  }
  return bars;
}

Bars label_bars(const ValueColumn& column, const torch::Tensor& held_out, const torch::Tensor& samples) {
  const int64_t n = column.labels.size();
  const auto counts = [&](const torch::Tensor& values) {
    return values.to(torch::kInt64).bincount({}, n).to(torch::kFloat64) / static_cast<double>(values.numel());
  };
  const auto real = counts(held_out);
  const auto drawn = counts(samples);
  auto order = torch::argsort(real + drawn, /*stable=*/true, 0, /*descending=*/true);
  if (n <= kMostBars) order = torch::arange(n, torch::kInt64);
  Bars bars;
  double rest_real = 0.0, rest_drawn = 0.0;
  for (int64_t k = 0; k < n; ++k) {
    const auto j = order[k].item<int64_t>();
    if (n > kMostBars && k + 1 >= kMostBars) {
      rest_real += real[j].item<double>();
      rest_drawn += drawn[j].item<double>();
      continue;
    }
    bars.names.push_back(column.labels.names()[j]);
    bars.held_out.push_back(real[j].item<double>());
    bars.samples.push_back(drawn[j].item<double>());
  }
  if (n > kMostBars) {
    bars.names.push_back(concat(n - kMostBars + 1, " others"));
    bars.held_out.push_back(rest_real);
    bars.samples.push_back(rest_drawn);
  }
  return bars;
}

// The top of the axis: above all bars, unless one of a histogram would make all others invisible.
double top_of(const Bars& bars) {
  std::vector<double> heights = bars.held_out;
  heights.insert(heights.end(), bars.samples.begin(), bars.samples.end());
  const double highest = *std::max_element(heights.begin(), heights.end());
  if (bars.are_labels()) return 1.08 * highest;
  double next = 0.0;  // the highest bar beside the bin of the highest one
  const auto n = bars.held_out.size();
  const auto at = static_cast<size_t>(std::max_element(heights.begin(), heights.end()) - heights.begin()) % n;
  for (size_t k = 0; k < n; ++k)
    if (k != at) next = std::max({next, bars.held_out[k], bars.samples[k]});
  return next > 0.0 && highest > kTall * next ? 1.5 * next : 1.08 * highest;
}

json trace_of(const Bars& bars, bool of_samples, int64_t panel) {
  const std::string suffix = panel == 0 ? "" : std::to_string(panel + 1);
  json trace{{"type", "bar"},
             {"name", of_samples ? "samples" : "held-out rows"},
             {"legendgroup", of_samples ? "samples" : "held-out"},
             {"showlegend", panel == 0},
             {"xaxis", "x" + suffix},
             {"yaxis", "y" + suffix},
             {"marker", {{"color", of_samples ? kSampleColour : kTargetColour}, {"line", {{"width", 0}}}}}};
  const auto& shares = of_samples ? bars.samples : bars.held_out;
  trace["x"] = json::array();
  for (size_t k = 0; k < shares.size(); ++k) {
    // Bars of labels stand side by side, those of histograms on top of each other.
    const double half = of_samples ? 0.2 : -0.2;
    trace["x"].push_back(bars.are_labels() ? json(static_cast<double>(k) + half) : json(bars.at[k]));
    trace["y"].push_back(to_screen(shares[k]));
    if (bars.are_labels()) {
      trace["width"].push_back(0.4);
      trace["customdata"].push_back(bars.names[k]);
    } else {
      trace["width"].push_back(bars.width[k]);
    }
  }
  if (bars.are_labels()) trace["hovertemplate"] = "%{customdata}: %{y:.1%}";
  if (!bars.are_labels()) trace["opacity"] = of_samples ? 0.55 : 0.6;
  return trace;
}

void set_axes(json& layout, const Bars& bars, const ValueColumn& column, int64_t panel, int64_t n_rows) {
  const std::string suffix = panel == 0 ? "" : std::to_string(panel + 1);
  const auto row = static_cast<double>(panel / kAcross);
  const auto place = static_cast<double>(panel % kAcross);
  const double height = 1.0 / static_cast<double>(n_rows);
  json across{{"anchor", "y" + suffix},
              {"domain", {place / kAcross + 0.035, (place + 1.0) / kAcross - 0.015}},
              {"tickfont", {{"size", 11}}}};
  if (bars.are_labels()) {
    across["tickmode"] = "array";
    across["tickangle"] = bars.names.size() > 4 ? -35 : 0;
    for (size_t k = 0; k < bars.names.size(); ++k) {
      across["tickvals"].push_back(k);
      across["ticktext"].push_back(shortened(bars.names[k]));
    }
  } else if (column.numbers->unit != Bins::Unit::number) {
    across["tickmode"] = "array";
    for (const size_t k : {size_t{0}, bars.at.size() / 2, bars.at.size() - 1}) {
      across["tickvals"].push_back(bars.at[k]);
      across["ticktext"].push_back(column.text_of(bars.at[k]));
    }
  } else {
    across["nticks"] = 6;
  }
  const double top = 1.0 - row * height - 30.0 / static_cast<double>(n_rows * kPanelHeight);
  const double bottom = 1.0 - (row + 1.0) * height + 70.0 / static_cast<double>(n_rows * kPanelHeight);
  layout["xaxis" + suffix] = std::move(across);
  layout["yaxis" + suffix] = {{"anchor", "x" + suffix},    {"domain", {bottom, top}}, {"range", {0.0, top_of(bars)}},
                              {"tickformat", ".0%"},       {"gridcolor", "#e6eaef"},  {"nticks", 4},
                              {"tickfont", {{"size", 11}}}};
}

// Text in a panel, `down` pixels from its top.
json note_in(const std::string& text, int64_t panel, int64_t n_rows, bool is_left, int down, int size) {
  const double x = static_cast<double>(panel % kAcross + (is_left ? 0 : 1)) / kAcross + (is_left ? 0.035 : -0.015);
  const double y = 1.0 - static_cast<double>(panel / kAcross) / static_cast<double>(n_rows);
  return {{"text", text},
          {"x", x},
          {"y", y - static_cast<double>(down) / static_cast<double>(n_rows * kPanelHeight)},
          {"xref", "paper"},
          {"yref", "paper"},
          {"xanchor", is_left ? "left" : "right"},
          {"yanchor", "top"},
          {"font", {{"size", size}}},
          {"showarrow", false}};
}

// The name above a panel, and what the bar that was cut stands for.
void add_title(json& layout, const Bars& bars, const ColumnComparison& column, int64_t panel, int64_t n_rows) {
  std::string text = "<b>" + escape_html(column.name) + "</b>";
  if (column.differs) text += " <span style=\"color:#b3261e\">off</span>";
  layout["annotations"].push_back(note_in(text, panel, n_rows, true, 4, 12));
  const double top = top_of(bars);
  for (size_t k = 0; k < bars.held_out.size(); ++k) {
    if (std::max(bars.held_out[k], bars.samples[k]) <= top) continue;
    const std::string cut =
        concat("cut: ", percent_text(bars.held_out[k]), " of rows, ", percent_text(bars.samples[k]), " of samples");
    layout["annotations"].push_back(note_in(cut, panel, n_rows, false, 32, 11));
  }
}

// ---- tables ---------------------------------------------------------------------------------------------------------

std::string number_or_nothing(const std::optional<Estimate>& estimate) {
  return estimate ? short_number(estimate->value) : "";
}

// On one line.
std::string unbroken(std::string text) {
  for (size_t at = text.find(' '); at != std::string::npos; at = text.find(' ', at)) text.replace(at, 1, kNoBreak);
  return text;
}

void show_measures(Page& page, const std::vector<Metric>& metrics) {
  std::vector<std::vector<std::string>> rows;
  std::string group;
  for (const Metric& m : metrics) {
    if (m.group != group) rows.push_back({m.group, "", "", "", "", ""});
    group = m.group;
    rows.push_back({concat(kNoBreak, kNoBreak, kNoBreak, m.name), unbroken(estimate_text(m.value)),
                    number_or_nothing(m.training), unbroken(reference_text(m)), number_or_nothing(m.independent),
                    differs_text(m)});
  }
  page.table({"measure", "samples (95% interval)", "training", "best possible", "independent", "off"}, rows);
  page.caption(
      "'training': as many rows of the training data in place of the samples, the noise floor. 'independent': as many "
      "rows whose columns were shuffled one by one, what a useless model gives. 'best possible': what exact samples "
      "give on average, with the value that 95 of 100 do not exceed, or the value of the held-out rows; for a "
      "prediction, that of trees trained on training rows. 'off': beyond the error (level 5%).");
}

// The columns, those that are off first, then the most distant ones.
std::vector<size_t> farthest_first(const TableEvaluation& found) {
  std::vector<size_t> order(found.columns.size());
  for (size_t c = 0; c < order.size(); ++c) order[c] = c;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const ColumnComparison& x = found.columns[a];
    const ColumnComparison& y = found.columns[b];
    return x.differs != y.differs ? x.differs : x.distance > y.distance;
  });
  return order;
}

std::string moments_text(const ValueColumn& column, double mean, double spread) {
  if (!column.is_number() || std::isnan(mean)) return "";
  if (column.numbers->unit == Bins::Unit::number)
    return unbroken(concat(short_number(mean), " ± ", short_number(spread)));
  return unbroken(concat(column.text_of(std::floor(mean)), " ± ",
                         short_number(spread / static_cast<double>(kSecondsPerDay)), " days"));
}

void show_column_table(Page& page, const TableEvaluationData& data, const TableEvaluation& found) {
  std::vector<std::vector<std::string>> rows;
  for (const size_t c : farthest_first(found)) {
    const ColumnComparison& column = found.columns[c];
    rows.push_back({column.name, short_number(column.distance), short_number(column.exact),
                    column.training ? short_number(*column.training) : "",
                    moments_text(data.columns[c], column.samples_mean, column.samples_spread),
                    moments_text(data.columns[c], column.held_out_mean, column.held_out_spread),
                    column.differs ? column.where.empty() ? "yes" : column.where : ""});
  }
  page.table({"column", "distance", "exact samples", "training rows", "samples: mean ± deviation",
              "held-out: mean ± deviation", "off"},
             rows);
  page.caption(
      "Distance: Kolmogorov-Smirnov for numbers, total variation for labels; 0 is equal, 1 is disjoint. 'off' names "
      "the "
      "label or value that differs most, if more than in any column of 95 of 100 exact tables.");
}

// ---- pairs and rows -------------------------------------------------------------------------------------------------

// A correlation that has the same mutual information, in [0, 1].
double strength(double nats) { return std::sqrt(1.0 - std::exp(-2.0 * std::max(0.0, nats))); }

json map_trace(const TableEvaluation& found, int64_t n, int64_t panel) {
  std::vector<std::vector<double>> cells(n, std::vector<double>(n, NAN));
  for (const PairInformation& pair : found.pairs) {
    if (pair.first >= n || pair.second >= n) continue;
    const double of_samples = strength(pair.samples);
    const double of_held_out = strength(pair.held_out);
    const double value = panel == 0 ? of_held_out : panel == 1 ? of_samples : of_samples - of_held_out;
    cells[pair.first][pair.second] = cells[pair.second][pair.first] = to_screen(value);
  }
  json z = json::array();
  for (const auto& row : cells) {
    json line = json::array();
    for (const double value : row) line.push_back(std::isnan(value) ? json() : json(value));
    z.push_back(std::move(line));
  }
  json heat = json::array();
  const int last = static_cast<int>(std::size(kHeatColours)) - 1;
  for (int k = 0; k <= last; ++k) heat.push_back({static_cast<double>(k) / last, kHeatColours[k]});
  const json signed_scale = json::array({{0, kTargetColour}, {0.5, "#ffffff"}, {1, kSampleColour}});
  const std::string suffix = panel == 0 ? "" : std::to_string(panel + 1);
  json names = json::array();
  for (int64_t c = 0; c < n; ++c) names.push_back(found.columns[c].name);
  return {{"type", "heatmap"},
          {"z", z},
          {"x", names},
          {"y", names},
          {"zmin", panel == 2 ? -0.5 : 0.0},
          {"zmax", panel == 2 ? 0.5 : 1.0},
          {"colorscale", panel == 2 ? signed_scale : heat},
          {"xaxis", "x" + suffix},
          {"yaxis", "y" + suffix},
          {"showscale", panel > 0},
          {"colorbar", {{"x", panel == 2 ? 1.0 : 0.66}, {"thickness", 10}, {"len", 0.9}}}};
}

Figure pair_maps(const TableEvaluation& found) {
  const auto n = std::min<int64_t>(kMostInMap, static_cast<int64_t>(found.columns.size()));
  Figure figure{
      json::array(),
      {{"height", 460}, {"annotations", json::array()}, {"margin", {{"l", 150}, {"r", 40}, {"t", 36}, {"b", 130}}}}};
  const char* const titles[] = {"held-out rows", "samples", "difference"};
  const double lefts[] = {0.0, 0.34, 0.72};
  for (int panel = 0; panel < 3; ++panel) {
    const std::string suffix = panel == 0 ? "" : std::to_string(panel + 1);
    figure.traces.push_back(map_trace(found, n, panel));
    figure.layout["xaxis" + suffix] = {{"domain", {lefts[panel], lefts[panel] + 0.28}},
                                       {"anchor", "y" + suffix},
                                       {"tickangle", -60},
                                       {"tickfont", {{"size", 10}}},
                                       {"constrain", "domain"}};
    figure.layout["yaxis" + suffix] = {{"anchor", "x" + suffix},
                                       {"autorange", "reversed"},
                                       {"showticklabels", panel == 0},
                                       {"automargin", panel == 0},
                                       {"tickfont", {{"size", 10}}}};
    figure.layout["annotations"].push_back({{"text", titles[panel]},
                                            {"x", lefts[panel] + 0.14},
                                            {"y", 1.08},
                                            {"xref", "paper"},
                                            {"yref", "paper"},
                                            {"xanchor", "center"},
                                            {"showarrow", false}});
  }
  return figure;
}

json distance_trace(const std::vector<double>& distances, const std::vector<double>& edges, bool of_samples) {
  json trace{{"type", "bar"},
             {"name", of_samples ? "samples" : "held-out rows"},
             {"opacity", 0.6},
             {"marker", {{"color", of_samples ? kSampleColour : kTargetColour}}}};
  const auto shares = shares_in(distances, edges);
  for (size_t k = 0; k < shares.size(); ++k) {
    trace["x"].push_back(to_screen(std::midpoint(edges[k], edges[k + 1])));
    trace["y"].push_back(to_screen(shares[k]));
  }
  return trace;
}

Figure nearest_figure(const TableEvaluation& found) {
  std::vector<double> samples;
  for (const NearestRow& near : found.of_samples) samples.push_back(near.distance);
  const double most =
      std::max({*std::max_element(samples.begin(), samples.end()),
                *std::max_element(found.held_out_distances.begin(), found.held_out_distances.end()), 1e-6});
  std::vector<double> edges;
  for (int64_t k = 0; k <= kHistogramBins; ++k)
    edges.push_back(most * static_cast<double>(k) / static_cast<double>(kHistogramBins));
  return {json::array({distance_trace(found.held_out_distances, edges, false), distance_trace(samples, edges, true)}),
          {{"height", 320},
           {"barmode", "overlay"},
           {"bargap", 0.0},
           {"xaxis", {{"title", {{"text", "distance to the nearest training row"}}}}},
           {"yaxis", {{"title", {{"text", "share"}}}, {"tickformat", ".0%"}, {"gridcolor", "#e6eaef"}}}}};
}

void add_figure(Page& page, const Figure& figure) { page.chart(figure.traces, figure.layout); }

}  // namespace

Figure column_figure(const TableEvaluationData& data, const TableEvaluation& found) {
  const auto n = std::min<int64_t>(kMostColumns, static_cast<int64_t>(data.columns.size()));
  const int64_t n_rows = (n + kAcross - 1) / kAcross;
  Figure figure{json::array(),
                {{"height", n_rows * kPanelHeight + 40},
                 {"barmode", "overlay"},
                 {"bargap", 0.0},
                 {"legend", {{"orientation", "h"}, {"x", 0.035}, {"y", 1.0}, {"yanchor", "bottom"}}},
                 {"margin", {{"l", 24}, {"r", 12}, {"t", 40}, {"b", 0}}},
                 {"annotations", json::array()}}};
  for (int64_t c = 0; c < n; ++c) {
    const ValueColumn& column = data.columns[c];
    const auto real = data.held_out.select(1, c);
    const auto drawn = data.samples.select(1, c);
    const Bars bars = column.is_number() ? number_bars(column, real, drawn) : label_bars(column, real, drawn);
    if (bars.held_out.empty()) continue;  // all values are missing
    figure.traces.push_back(trace_of(bars, false, c));
    figure.traces.push_back(trace_of(bars, true, c));
    set_axes(figure.layout, bars, column, c, n_rows);
    add_title(figure.layout, bars, found.columns[c], c, n_rows);
  }
  return figure;
}

Page table_page(const TableEvaluationData& data, const TableEvaluation& found, const Evaluation& all,
                const std::string& title, const std::vector<std::string>& setting) {
  Page page(title);
  for (const std::string& paragraph : setting) page.text(paragraph);
  page.heading("Verdict");
  for (const std::string& verdict : found.verdicts) page.text(verdict);
  for (const std::string& what : found.left_out) page.caption("Left out: " + what);
  page.heading("Measures");
  show_measures(page, all.metrics);
  page.heading("Columns");
  add_figure(page, column_figure(data, found));
  page.caption(
      "Blue: held-out rows; orange: samples. The outermost bars of numbers have all that lies beyond them, 0.5% of the "
      "held-out rows on either side.");
  show_column_table(page, data, found);
  if (!found.pairs.empty()) {
    page.heading("Dependence of pairs of columns");
    add_figure(page, pair_maps(found));
    page.caption(
        "Mutual information I of numbers in groups and of labels, as the correlation sqrt(1 - exp(-2 I)) that has as "
        "much: 0 independent, 1 one determines the other.");
  }
  if (!found.of_samples.empty() && !found.held_out_distances.empty()) {
    page.heading("Nearest training rows");
    add_figure(page, nearest_figure(found));
    page.caption(
        "Mean over the columns: labels that differ count 1, numbers the share of training rows between them. Samples "
        "nearer than held-out rows may be memorised; that they are not nearer is no proof of privacy.");
  }
  if (all.of_samples.row.defined()) {
    page.heading("Nearest training rows");
    add_figure(page, nearest_distances(all));
  }
  page.heading("Details");
  std::vector<std::vector<std::string>> notes;
  for (const Metric& m : all.metrics)
    if (!m.note.empty()) notes.push_back({concat(m.group, ": ", m.name), m.note});
  page.table({"measure", "note"}, notes);
  return page;
}

void write_nearest_csv(std::ostream& out, const TableEvaluationData& data, const TableEvaluation& found) {
  out << "sample,rank,distance,train_item";
  for (const ValueColumn& column : data.columns) out << ',' << csv_field(column.name);
  out << '\n';
  const auto row = [&](const torch::Tensor& table, int64_t at) {
    const auto cells = table[at].contiguous();
    for (size_t c = 0; c < data.columns.size(); ++c)
      out << ',' << csv_field(data.columns[c].text_of(cells.const_data_ptr<double>()[c]));
    out << '\n';
  };
  for (size_t k = 0; k < found.of_samples.size(); ++k) {
    const NearestRow& near = found.of_samples[k];
    out << k << ",0,0,";
    row(data.samples, static_cast<int64_t>(k));
    out << k << ",1," << near.distance << ',' << near.row;
    row(data.train, near.row);
  }
}

void write_columns_csv(std::ostream& out, const TableEvaluation& found) {
  out << "column,measure,distance,exact,training,samples_mean,samples_sd,held_out_mean,held_out_sd,differs,where\n";
  for (const ColumnComparison& column : found.columns) {
    out << csv_field(column.name) << ',' << (column.is_number ? "Kolmogorov-Smirnov distance" : "total variation")
        << ',' << column.distance << ',' << column.exact << ',';
    if (column.training) out << *column.training;
    for (const double value :
         {column.samples_mean, column.samples_spread, column.held_out_mean, column.held_out_spread}) {
      out << ',';
      if (column.is_number && !std::isnan(value)) out << value;
    }
    out << ',' << (column.differs ? "yes" : "no") << ',' << csv_field(column.where) << '\n';
  }
}

void write_table_evaluation(const std::filesystem::path& folder, const TableEvaluationData& data,
                            const TableEvaluation& found, const EvaluationData& labels, const Evaluation& all,
                            const Page& page, const std::filesystem::path& plotly) {
  write_file_whole(folder / "metrics.csv", [&](std::ostream& out) { write_metrics_csv(out, all.metrics); });
  write_file_whole(folder / "columns.csv", [&](std::ostream& out) { write_columns_csv(out, found); });
  if (all.of_samples.row.defined())
    write_file_whole(folder / "neighbours.csv", [&](std::ostream& out) { write_neighbours_csv(out, labels, all); });
  if (!found.of_samples.empty())
    write_file_whole(folder / "neighbours.csv", [&](std::ostream& out) { write_nearest_csv(out, data, found); });
  page.write(folder / "report.html", plotly);
}

}  // namespace segre
