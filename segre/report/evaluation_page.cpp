#include "segre/report/evaluation_page.h"

#include <algorithm>

#include "segre/core/error.h"
#include "segre/eval/metric_text.h"
#include "segre/io/csv.h"
#include "segre/io/files.h"
#include "segre/report/evaluation_figures.h"

namespace segre {
namespace {

constexpr int64_t kShownImages = 48;
constexpr int64_t kShownNeighbours = 20;
constexpr int64_t kShownNearest = 10;

void show(Page& page, const Picture& picture) {
  page.picture(encode_png_rgb(picture.pixels, picture.height, picture.width));
}

void show(Page& page, const Figure& figure) { page.chart(figure.traces, figure.layout); }

Picture first_neighbours(const EvaluationData& data, const Evaluation& evaluation) {
  return neighbour_picture(data, evaluation,
                           torch::arange(std::min(kShownNeighbours, data.samples.size(0)), torch::kInt64));
}

void show_metrics(Page& page, const std::vector<Metric>& metrics) {
  std::vector<std::vector<std::string>> rows;
  for (const Metric& m : metrics)
    rows.push_back({concat(m.group, ": ", m.name), estimate_text(m.value), reference_text(m), better_text(m.better),
                    differs_text(m)});
  page.table({"metric", "samples (95% interval)", "reference", "better", "differs"}, rows);
  page.caption(
      "If lower is better, 0 would be perfect, but a finite number of exact samples does not reach it: the reference "
      "is what they give on average, with their 95% quantile, from 199 random permutations of samples and held-out "
      "items. If the reference is best, it is the held-out items' own value. 'differs': chance does not explain the "
      "difference (level 5%, each row on its own). Intervals: delta method for differences of shares, Wilson for "
      "shares, DeLong for the probability of being nearer, order statistics for quantiles; items are assumed to be "
      "independent.");
  rows.clear();
  for (const Metric& m : metrics)
    if (!m.note.empty()) rows.push_back({concat(m.group, ": ", m.name), m.note});
  page.heading("Details");
  page.table({"metric", "note"}, rows);
}

void show_images(Page& page, const EvaluationData& data, const Evaluation& evaluation) {
  const auto grid = [&](const torch::Tensor& labels) {
    const int64_t columns = data.space.image_part()->is_wide() ? 6 : 12;
    return draw_label_grid(data.space, labels.slice(0, 0, std::min(kShownImages, labels.size(0))), columns);
  };
  page.heading("Samples and held-out items");
  show(page, grid(data.samples));
  page.caption("The first samples drawn.");
  show(page, grid(data.held_out));
  page.caption("Held-out items.");
  page.heading("How often each pixel is off the background");
  show(page, marginal_maps(data.space, evaluation.marginals, background_label(data.space, data.held_out)));
}

void show_memorisation(Page& page, const EvaluationData& data, const Evaluation& evaluation) {
  if (!evaluation.of_samples.row.defined()) return;
  page.heading("Nearest training items");
  page.text(
      "Distance is the number of variables whose labels differ. All training items are searched; ties go to the "
      "first. Training items that occur several times count each time. Held-out items show how near an item comes "
      "without being copied; the table above says whether samples are nearer.");
  show(page, nearest_distances(evaluation));
  if (!data.space.is(PartKind::image)) return;
  show(page, first_neighbours(data, evaluation));
  page.caption(concat("Samples (red frame), each followed by its ", evaluation.of_samples.row.size(1),
                      " nearest training items."));
  const auto order = torch::argsort(evaluation.of_samples.distance.select(1, 0), /*stable=*/true, 0, false);
  show(page, neighbour_picture(data, evaluation, order.slice(0, 0, std::min(kShownNearest, order.numel()))));
  page.caption("The same for the samples that come nearest to a training item: copies would appear here.");
}

}  // namespace

Page evaluation_page(const EvaluationData& data, const Evaluation& evaluation, const std::string& title,
                     const std::vector<std::string>& setting) {
  Page page(title);
  for (const std::string& paragraph : setting) page.text(paragraph);
  show_metrics(page, evaluation.metrics);
  if (data.space.is(PartKind::image)) show_images(page, data, evaluation);
  page.heading("Shares of labels");
  page.text(
      "Each point is a label of a variable, or a combination of labels of a pair. Points on the line are as frequent "
      "in the samples as in the held-out items.");
  show(page, share_scatter(evaluation));
  show_memorisation(page, data, evaluation);
  return page;
}

void write_neighbours_csv(std::ostream& out, const EvaluationData& data, const Evaluation& evaluation) {
  const bool with_labels = !data.space.is(PartKind::image);
  out << "sample,rank,distance,train_item,mirrored";
  const auto columns = with_labels ? data.space.columns_and_variables() : std::vector<Column>();
  for (const Column& column : columns) out << ',' << csv_field(column.name);
  out << '\n';
  const auto labels = [&](const torch::Tensor& item) {
    const auto row = item.to(torch::kInt64).contiguous();
    for (const Column& column : columns)
      out << ',' << csv_field(cell_text(data.space, column, row.const_data_ptr<int64_t>() + column.first, {}));
    out << '\n';
  };
  for (int64_t b = 0; b < data.samples.size(0); ++b) {
    if (with_labels) {
      out << b << ",0,0,,";
      labels(data.samples[b]);
    }
    for (int64_t k = 0; k < evaluation.of_samples.row.size(1); ++k) {
      const int64_t row = evaluation.of_samples.row[b][k].item<int64_t>();
      out << b << ',' << k + 1 << ',' << evaluation.of_samples.distance[b][k].item<int64_t>() << ','
          << row % data.n_train << ',' << (row >= data.n_train ? "yes" : "no");
      labels(data.train[row]);
    }
  }
}

void write_evaluation(const std::filesystem::path& folder, const EvaluationData& data, const Evaluation& evaluation,
                      const Page& page, const std::filesystem::path& plotly) {
  write_file_whole(folder / "metrics.csv", [&](std::ostream& out) { write_metrics_csv(out, evaluation.metrics); });
  if (evaluation.of_samples.row.defined()) {
    write_file_whole(folder / "neighbours.csv",
                     [&](std::ostream& out) { write_neighbours_csv(out, data, evaluation); });
    if (data.space.is(PartKind::image)) {
      const Picture picture = first_neighbours(data, evaluation);
      const std::string bytes = encode_png_rgb(picture.pixels, picture.height, picture.width);
      write_file_whole(folder / "neighbours.png", [&](std::ostream& out) { out << bytes; });
    }
  }
  page.write(folder / "report.html", plotly);
}

}  // namespace segre
