#include "cli/demo_table.h"

#include <cmath>
#include <fstream>
#include <iostream>
#include <sstream>

#include "segre/core/text.h"
#include "segre/data/joint_table.h"
#include "segre/io/csv.h"
#include "segre/io/files.h"
#include "segre/model/joint_oracle.h"
#include "segre/recipes/recipe.h"
#include "segre/runs/train_display.h"
#include "segre/runs/train_run.h"
#include "segre/sources/source_kinds.h"
#include "segre/space/blocks.h"
#include "segre/tasks/complete.h"

namespace segre::cli {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRows = 4000;
constexpr double kHoles = 0.25;  // share of the cells

// Sky, rain, street and umbrella of a day: each depends on the one before.
JointTable weather() {
  const Space space = Space::table({{"sky", 3, {"clear", "cloudy", "dark"}},
                                    {"rain", 2, {"no", "yes"}},
                                    {"street", 2, {"dry", "wet"}},
                                    {"umbrella", 2, {"open", "shut"}}});
  constexpr double kSky[] = {0.5, 0.3, 0.2};
  constexpr double kRain[] = {0.02, 0.25, 0.8};
  const auto labelings = enumerate_labelings(space);
  auto p = torch::empty({labelings.size(0)}, torch::kFloat64);
  for (int64_t k = 0; k < labelings.size(0); ++k) {
    const auto* x = labelings[k].const_data_ptr<int64_t>();
    const double wet = x[1] == 1 ? 0.97 : 0.08;
    const double open = x[1] == 1 ? 0.85 : 0.03;
    p[k] = kSky[x[0]] * (x[1] == 1 ? kRain[x[0]] : 1.0 - kRain[x[0]]) * (x[2] == 1 ? wet : 1.0 - wet) *
           (x[3] == 0 ? open : 1.0 - open);
  }
  return make_joint_table(space, labelings, p / p.sum());
}

void write_demo_table(const fs::path& file, const Space& space, const torch::Tensor& labels,
                      const torch::Tensor& hole) {
  write_file_whole(file, [&](std::ostream& out) {
    for (int64_t i = 0; i < space.n_variables(); ++i) out << (i > 0 ? "," : "") << space.variable_name(i);
    for (int64_t k = 0; k < labels.size(0); ++k)
      for (int64_t i = 0; i < space.n_variables(); ++i)
        out << (i > 0 ? "," : "\n")
            << (hole[k][i].item<bool>() ? "" : space.label_name(i, labels[k][i].item<int64_t>()));
    out << '\n';
  });
}

std::vector<std::vector<std::string>> read_rows(const std::string& text, size_t count) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream in(text);
  for (std::string line; rows.size() <= count && std::getline(in, line);) rows.push_back(split(line, ','));
  return rows;
}

}  // namespace

void show_table_with_holes(Page& page, const fs::path& out, double seconds, uint64_t seed, const Context& context) {
  std::cerr << "== table: train on a table with holes, and fill them in\n";
  const JointTable joint = weather();
  const auto labels = JointSampler(joint).draw({seed, Purpose::source_rows}, 0, kRows);
  const auto u = fill_uniform(torch::empty({kRows, joint.space.n_variables()}), {seed, Purpose::known_cells}, 0);
  const auto hole = u < kHoles;
  const fs::path file = out / "weather.csv";
  write_demo_table(file, joint.space, labels, hole);

  const std::string data = "csv:" + file.string() + "?missing=unknown";
  const auto source = open_source(data);
  Experiment experiment = recipe_for(source->space(), source->n_items());
  experiment.data = data;
  experiment.seed = static_cast<int64_t>(seed);
  const RunDirectory run(out / "table");
  {
    TrainDisplay display;
    TrainCallbacks callbacks = display.callbacks();
    callbacks.on_start = nullptr;
    callbacks.signals = true;
    train_run(experiment, run, {.max_seconds = seconds, .command = context.command_line, .callbacks = callbacks});
  }
  const LoadedRun loaded = load_run(run.path(), torch::kCPU);
  const Completer completer(loaded, {.sample = loaded.experiment.sample, .seed = seed});
  std::ostringstream filled;
  complete_csv(completer, parse_source_name("csv:" + file.string()), file.string(), {.draws = 1, .out = &filled}, seed);
  write_file_whole(out / "weather-filled.csv", [&](std::ostream& stream) { stream << filled.str(); });

  // How good the most likely labels are, beside the best that anyone could do: the exact conditionals.
  const auto unknown = torch::full_like(labels, kUnknown);
  const auto asked = torch::where(hole, unknown, labels);
  const auto guess = completer.best(completer.probabilities(completer.known_of(asked), 0));
  const JointOracle oracle(joint, loaded.model.shared_path());
  const auto zero = torch::zeros({kRows, joint.space.n_coordinates()}, torch::kFloat64);
  const auto exact = oracle.posterior_marginals(State{zero, torch::zeros({1}, torch::kFloat64), {.labels = asked}});
  const auto share_right = [&](const torch::Tensor& answer) {
    return (answer == labels).masked_select(hole).to(torch::kFloat64).mean().item<double>();
  };

  page.heading("A table with holes");
  page.text(concat("Sky, rain, street and umbrella of ", kRows,
                   " days, with a quarter of the cells missing at random. ",
                   "The model learns from what is there (missing=unknown) and fills in the rest: each hole is drawn ",
                   "from its distribution given the other cells of its row."));
  constexpr size_t kShown = 8;
  std::ifstream in(file);
  const std::string before((std::istreambuf_iterator<char>(in)), {});
  const auto old_rows = read_rows(before, kShown);
  auto rows = read_rows(filled.str(), kShown);
  for (size_t k = 1; k < rows.size(); ++k)
    for (size_t i = 0; i < rows[k].size(); ++i)
      if (i >= old_rows[k].size() || old_rows[k][i].empty()) rows[k][i] = "[" + rows[k][i] + "]";
  const auto header = rows.front();
  rows.erase(rows.begin());
  page.table(header, rows);
  page.caption(
      concat("The first rows of weather-filled.csv; cells in brackets were empty. The most likely label is right "
             "for ",
             fixed(100.0 * share_right(guess), 1), "% of the holes, where exact conditionals would give ",
             fixed(100.0 * share_right(argmax_labels(joint.space, exact)), 1), "%."));
}

}  // namespace segre::cli
