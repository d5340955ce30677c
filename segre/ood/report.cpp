#include "segre/ood/report.h"

#include <algorithm>
#include <cmath>
#include <iomanip>

#include "segre/core/error.h"
#include "segre/core/text.h"
#include "segre/io/csv.h"
#include "segre/io/files.h"
#include "segre/ood/verdict.h"
#include "segre/report/page.h"
#include "segre/report/picture.h"
#include "segre/report/style.h"

namespace segre {

const char* const kWhyNotRawLikelihood =
    "Raw likelihood misleads: how many nats an item costs depends above all on how complex the item is. Thin strokes, "
    "large flat areas and short texts are likely under almost any model, even one that never saw anything similar, and "
    "a complex item of the right kind costs more than a simple one of the wrong kind. What counts is how many nats an "
    "item costs for its complexity.";

const char* const kHowRecommended =
    "The recommended score is chosen without looking at the outside data. On training items alone, the logarithm of "
    "the model's nats is fitted, by least squares, as a line in the logarithms of the item's complexity: the nats by "
    "its own label frequency (if all variables share their labels) and by its compressed size. The score is how far an "
    "item is above that line, in standard deviations. Neither measure of complexity knows anything about the training "
    "data; one that does would be surprised by the same items as the model and cancel part of the signal. No score is "
    "best against every kind of outside data: see the whole table.";

const char* const kHowRecommendedOfTables =
    "Rare labels alone make a row of a table unlikely, even if they go together as they should. The recommended score "
    "for tables is the model's nats minus those of independent columns with the shares of the training data: how "
    "surprising the combination is. It has nothing to fit and uses no outside data. Against rows that are odd only "
    "because of rare labels, the nats themselves are better.";

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int64_t kBins = 60;
constexpr int64_t kShownItems = 10;
constexpr double kLog2 = 0.6931471805599453;

// Rows spread evenly over a set, since neighbours in a file are often alike.
torch::Tensor shown_rows(const ExaminedItems& items, int64_t count) {
  const int64_t N = items.labels.size(0);
  return (torch::arange(count) * N).div(count, "floor");
}

int64_t n_shown(const OutsideReport& report) {
  return std::min({kShownItems, report.inside.labels.size(0), report.outside.labels.size(0)});
}

const OutsideScore& score_of(const ExaminedItems& items, const std::string& key) {
  return *std::find_if(items.scores.begin(), items.scores.end(),
                       [&](const OutsideScore& score) { return score.key == key; });
}

void add_row(Page& page, const Space& space, const char* set, const ExaminedItems& items, int64_t count) {
  std::vector<std::string> pngs;
  std::vector<std::string> captions;
  const auto rows = shown_rows(items, count);
  const auto bits = items.nats / (kLog2 * static_cast<double>(space.n_variables()));
  for (int64_t k = 0; k < count; ++k) {
    const int64_t row = rows[k].item<int64_t>();
    const Picture picture = draw_label_grid(space, items.labels.slice(0, row, row + 1), 1);
    pngs.push_back(encode_png_rgb(picture.pixels, picture.height, picture.width));
    captions.push_back(fixed(bits[row].item<double>(), 3));
  }
  page.picture_row(concat(set, ": ", items.source), pngs, captions);
}

void show_items(Page& page, const OutsideReport& report) {
  page.heading("Items and their bits per variable");
  const int64_t count = n_shown(report);
  add_row(page, report.space, "Inside", report.inside, count);
  add_row(page, report.space, "Outside", report.outside, count);
  page.caption(concat("Bound on -log2 p divided by the number of variables, ", report.space.n_variables(),
                      ": smaller is more likely under the model (", report.bound,
                      "). Items are spread evenly over each source."));
}

// Rows of items above rows of their nats per pixel, as one picture.
std::string oddest_png(const OutsideReport& report) {
  // One palette for both: the labels' colours, then those of the nats.
  const HeatMap heat = heat_map(report.space, torch::cat({report.oddest_inside.nats, report.oddest_outside.nats}));
  LabelSet colours{.names = {}, .colours = label_colours(report.space)};
  const auto n_labels = static_cast<int64_t>(colours.colours.size());
  for (const Rgb& colour : heat.space.label_set().colours) colours.colours.push_back(colour);
  const auto n_all = static_cast<int64_t>(colours.colours.size());
  const Part& image = *report.space.image_part();
  const Space both = Space::image(image.height(), image.width(), n_all, colours);
  const int64_t n_inside = report.oddest_inside.labels.size(0);
  const auto nats = heat.labels + n_labels;
  const auto rows = torch::cat(
      {report.oddest_inside.labels, nats.slice(0, 0, n_inside), report.oddest_outside.labels, nats.slice(0, n_inside)});
  return label_grid_png(both, rows, n_inside);
}

// The most surprising cells of each row.
void show_odd_rows(Page& page, const OutsideReport& report, const std::string& set, const OddestItems& items) {
  constexpr int64_t kCells = 3;
  std::vector<std::vector<std::string>> rows;
  for (int64_t k = 0; k < items.labels.size(0); ++k) {
    const auto order = items.nats[k].argsort(/*dim=*/int64_t{0}, /*descending=*/true);
    std::vector<std::string> row{concat(set, " ", items.numbers[k].item<int64_t>())};
    for (int64_t j = 0; j < std::min(kCells, items.labels.size(1)); ++j) {
      const auto i = order[j].item<int64_t>();
      row.push_back(concat(report.space.variable_name(i), " = ",
                           report.space.label_name(i, items.labels[k][i].item<int64_t>()), " (",
                           fixed(items.nats[k][i].item<double>(), 2), " nats)"));
    }
    rows.push_back(std::move(row));
  }
  std::vector<std::string> header{"item", "oddest cell", "second", "third"};
  header.resize(rows.empty() ? 1 : rows.front().size());
  page.table(header, rows);
}

// Where the items with the highest recommended score are odd.
void show_oddest(Page& page, const OutsideReport& report) {
  if (!report.oddest_inside.labels.defined()) return;
  page.heading("Where the oddest items are odd");
  if (report.space.is(PartKind::image)) {
    page.picture(oddest_png(report));
    page.caption(
        "The items with the highest recommended score, inside first, then outside; below each the nats of every pixel, "
        "from black (0) over red and yellow to white.");
    return;
  }
  show_odd_rows(page, report, "inside", report.oddest_inside);
  show_odd_rows(page, report, "outside", report.oddest_outside);
  page.caption(
      "The items with the highest recommended score, and the cells that contribute most nats to a bound on -log p.");
}

void show_histograms(Page& page, const OutsideReport& report) {
  page.heading("Scores of inside and outside items");
  for (const char* key : {"recommended", "nats"}) {
    const Figure figure = score_histogram(score_of(report.inside, key), score_of(report.outside, key));
    page.chart(figure.traces, figure.layout);
    page.caption(std::string(key) == "nats" ? concat("Raw nats, the bound on -log p: ", report.bound, '.')
                 : report.space.is(PartKind::columns)
                     ? "The recommended score, in nats."
                     : "The recommended score, in standard deviations on training items.");
  }
}

json bars(const char* name, const char* colour, const OutsideScore& score, double low, double width) {
  const auto bin = ((score.values - low) / width).floor().clamp(0, kBins - 1).to(torch::kInt64);
  const auto shares = torch::bincount(bin, {}, kBins).to(torch::kFloat64) / static_cast<double>(bin.numel());
  json trace{{"type", "bar"}, {"name", name}, {"opacity", 0.6}, {"width", width}, {"marker", {{"color", colour}}}};
  for (int64_t k = 0; k < kBins; ++k) {
    trace["x"].push_back(low + (static_cast<double>(k) + 0.5) * width);
    trace["y"].push_back(shares[k].item<double>());
  }
  return trace;
}

Page page_of(const OutsideReport& report) {
  Page page("Inside or outside the distribution");
  page.text(concat("Model ", report.model, "; inside: ", report.inside.labels.size(0), " items of ",
                   report.inside.source, "; outside: ", report.outside.labels.size(0), " items of ",
                   report.outside.source, "."));
  page.text(verdict(report.results));
  const TextTable table = auroc_table(report.results);
  page.table(table.header, table.rows);
  page.caption(
      "Larger scores mean more outside. AUROC: the chance that an outside item scores higher than an inside item; 1 is "
      "best, 0.5 is guessing; 'reversed' is its value if smaller scores meant more outside, a choice that needs "
      "outside data. FPR at 95% recall: the share of outside items accepted by the threshold that accepts 95% of the "
      "inside items; 0 is best. The 95% intervals (AUROC: DeLong's) are for each score alone; the verdict compares "
      "scores on the same items, which detects smaller differences.");
  page.heading("Which score to use");
  if (report.space.is(PartKind::columns)) {
    page.text(kHowRecommendedOfTables);
  } else {
    page.text(kWhyNotRawLikelihood);
    page.text(kHowRecommended);
  }
  page.text(report.how_recommended);
  show_oddest(page, report);
  show_histograms(page, report);
  if (report.space.is(PartKind::image)) show_items(page, report);
  return page;
}

void write_rows(std::ostream& out, const char* set, const ExaminedItems& items) {
  for (int64_t k = 0; k < items.nats.numel(); ++k) {
    out << set << ',' << items.numbers[k].item<int64_t>() << ',' << items.std_error[k].item<double>();
    for (const OutsideScore& score : items.scores) out << ',' << score.values[k].item<double>();
    out << '\n';
  }
}

}  // namespace

Figure score_histogram(const OutsideScore& inside, const OutsideScore& outside) {
  const double low = std::min(inside.values.min().item<double>(), outside.values.min().item<double>());
  const double high = std::max(inside.values.max().item<double>(), outside.values.max().item<double>());
  const double width = high > low ? (high - low) / static_cast<double>(kBins) : 1.0;
  return {json::array(
              {bars("inside", kTargetColour, inside, low, width), bars("outside", kSampleColour, outside, low, width)}),
          {{"height", 320},
           {"barmode", "overlay"},
           {"bargap", 0},
           {"xaxis", {{"title", {{"text", inside.name}}}}},
           {"yaxis", {{"title", {{"text", "share of items"}}}}}}};
}

void write_outside_report(const fs::path& folder, const OutsideReport& report, const fs::path& plotly) {
  write_file_whole(folder / "scores.csv",
                   [&](std::ostream& out) { write_scores_csv(out, report.inside, report.outside); });
  write_file_whole(folder / "auroc.csv", [&](std::ostream& out) { write_auroc_csv(out, report.results); });
  if (report.space.is(PartKind::image)) {
    const int64_t count = n_shown(report);
    const auto items = torch::cat({report.inside.labels.index_select(0, shown_rows(report.inside, count)),
                                   report.outside.labels.index_select(0, shown_rows(report.outside, count))});
    write_label_grid(folder / "items.png", report.space, items, count);
    if (report.oddest_inside.labels.defined())
      write_file_whole(folder / "oddest.png", [&](std::ostream& out) { out << oddest_png(report); });
  }
  page_of(report).write(folder / "report.html", plotly);
}

void write_scores_csv(std::ostream& out, const ExaminedItems& inside, const ExaminedItems& outside) {
  out << "set,item,std_error";
  for (const OutsideScore& score : inside.scores) out << ',' << score.key;
  out << '\n' << std::setprecision(kScoreDigits);
  write_rows(out, "inside", inside);
  write_rows(out, "outside", outside);
}

void write_auroc_csv(std::ostream& out, const std::vector<Separation>& results) {
  out << "score,family,auroc,low,high,auroc_reversed,fpr95,fpr95_low,fpr95_high,lead,lead_low,lead_high,name\n"
      << std::setprecision(kScoreDigits);
  for (const Separation& result : results) {
    const Roc& roc = result.roc;
    out << result.key << ',' << family_name(result.family);
    for (const double value : {roc.auroc, roc.low, roc.high, 1.0 - roc.auroc, roc.fpr95, roc.fpr95_low, roc.fpr95_high,
                               result.lead.value, result.lead.low, result.lead.high})
      out << ',' << value;
    out << ',' << csv_field(result.name) << '\n';
  }
}

TextTable auroc_table(const std::vector<Separation>& results) {
  TextTable table{{"score", "family", "AUROC", "95% interval", "FPR at 95% recall"}, {}};
  for (const Separation& result : results)
    table.rows.push_back({result.name, family_name(result.family), auroc_text(result.roc),
                          concat(fixed(result.roc.low, 4), " to ", fixed(result.roc.high, 4)),
                          concat(fixed(result.roc.fpr95, 3), " (", fixed(result.roc.fpr95_low, 3), " to ",
                                 fixed(result.roc.fpr95_high, 3), ")")});
  return table;
}

}  // namespace segre
