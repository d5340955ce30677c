#include "segre/eval/table_evaluation.h"

#include <algorithm>
#include <cmath>

#include "segre/core/error.h"
#include "segre/core/text.h"
#include "segre/core/utf8.h"
#include "segre/eval/column_groups.h"
#include "segre/eval/metric_text.h"
#include "segre/eval/nearest_rows.h"
#include "segre/eval/roc.h"
#include "segre/eval/table_distances.h"
#include "segre/eval/two_sample.h"

namespace segre {
namespace {

constexpr int64_t kMostTargetLabels = 20;
constexpr double kNearestWork = 3e9;  // cells compared for the nearest rows of one table
constexpr int64_t kMostNearest = 2000;
constexpr int64_t kFewestNearest = 200;
constexpr int64_t kNamed = 5;         // columns that a verdict names
constexpr double kWorthNaming = 0.1;  // of a column that a two-sample test names
constexpr GroupOptions kShareGroups{.least_share = 0.005, .most_own = 30, .most_groups = 38};
constexpr GroupOptions kPairGroups{.least_share = 0.125, .most_own = 6, .most_groups = 7};

std::optional<Estimate> maybe(bool there, double value) {
  return there ? std::optional(Estimate{value}) : std::nullopt;
}

// The tables that stand beside the samples, and what all measures share.
struct Tables {
  const TableEvaluationData& data;
  const TableEvaluationOptions& options;
  torch::Tensor training{};     // as many training rows as there are samples, if they are there
  torch::Tensor independent{};  // as many rows with independent columns

  Tables(const TableEvaluationData& d, const TableEvaluationOptions& o) : data(d), options(o) {
    const torch::Tensor& real = d.train.defined() ? d.train : d.held_out;
    const int64_t N = d.samples.size(0);
    if (d.train.defined()) training = choose_rows(d.train, N, o.seed, 2);
    independent = choose_rows(shuffle_columns(real, o.seed), N, o.seed, 3);
  }
  bool has_train() const { return data.train.defined(); }
  torch::Tensor pooled() const {
    auto all = std::vector<torch::Tensor>{data.samples, data.held_out};
    if (has_train()) all.push_back(data.train);
    return torch::cat(all);
  }
  void report(const char* what) const { options.callbacks.report({what, 0, 1}); }
};

// ---- columns --------------------------------------------------------------------------------------------------------

// Mean and standard deviation of the known values.
void moments(const torch::Tensor& values, double& mean, double& spread) {
  const auto known = values.index({values.isnan().logical_not()});
  mean = known.numel() > 0 ? known.mean().item<double>() : NAN;
  spread = known.numel() > 1 ? known.std().item<double>() : 0.0;
}

std::vector<int64_t> numbers_among(const std::vector<ValueColumn>& columns) {
  std::vector<int64_t> found;
  for (size_t c = 0; c < columns.size(); ++c)
    if (columns[c].is_number()) found.push_back(static_cast<int64_t>(c));
  return found;
}

void describe_columns(TableEvaluation& out, const Tables& tables) {
  const TableEvaluationData& data = tables.data;
  for (size_t c = 0; c < data.columns.size(); ++c) {
    ColumnComparison found{.name = data.columns[c].name, .is_number = data.columns[c].is_number()};
    const auto i = static_cast<int64_t>(c);
    if (found.is_number) {
      moments(data.samples.select(1, i), found.samples_mean, found.samples_spread);
      moments(data.held_out.select(1, i), found.held_out_mean, found.held_out_spread);
    }
    out.columns.push_back(std::move(found));
  }
}

void add_numbers(TableEvaluation& out, const Tables& tables) {
  const auto numbers = numbers_among(tables.data.columns);
  if (numbers.empty()) return;
  const auto at = torch::tensor(numbers, torch::kInt64);
  const auto held_out = tables.data.held_out.index_select(1, at);
  const auto found = compare_numbers(tables.data.samples.index_select(1, at), held_out, tables.options.seed);
  double training = 0.0, independent = 0.0, largest_training = 0.0, largest_independent = 0.0;
  size_t largest = 0;
  for (size_t k = 0; k < numbers.size(); ++k) {
    ColumnComparison& column = out.columns[numbers[k]];
    column.distance = found.distance[k];
    column.exact = found.exact[k];
    column.differs = found.distance[k] > found.largest_exact.high;
    const auto real = held_out.select(1, static_cast<int64_t>(k));
    if (tables.has_train()) column.training = number_distance(tables.training.select(1, numbers[k]), real);
    const double mixed = number_distance(tables.independent.select(1, numbers[k]), real);
    training += column.training.value_or(0.0) / static_cast<double>(numbers.size());
    largest_training = std::max(largest_training, column.training.value_or(0.0));
    independent += mixed / static_cast<double>(numbers.size());
    largest_independent = std::max(largest_independent, mixed);
    if (found.distance[k] > found.distance[largest]) largest = k;
  }
  const std::string group = "numbers";
  out.metrics.push_back({group, "Kolmogorov-Smirnov distance, mean over the columns", found.mean, found.mean_exact,
                         Better::lower, found.mean.value > found.mean_exact.high, "",
                         maybe(tables.has_train(), training), Estimate{independent}});
  const Estimate most{found.distance[largest]};
  out.metrics.push_back({group, "Kolmogorov-Smirnov distance, largest", most, found.largest_exact, Better::lower,
                         most.value > found.largest_exact.high, concat("column ", out.columns[numbers[largest]].name),
                         maybe(tables.has_train(), largest_training), Estimate{largest_independent}});
}

// The standardised difference of two shares p of N and q of M items, as in FrequencyComparison.
double standardised(double p, double q, double N, double M) {
  const double pooled = (N * p + M * q) / (N + M);
  const double fewer = std::min(N, M);
  if (fewer * pooled < FrequencyComparison::kFewest || fewer * (1.0 - pooled) < FrequencyComparison::kFewest)
    return 0.0;
  return std::abs(p - q) / std::sqrt(pooled * (1.0 - pooled) * (1.0 / N + 1.0 / M));
}

// What the comparison of all groups shows about each column: the total variation of labels, and what is off.
void set_shares(TableEvaluation& out, const FrequencyComparison& found, const Space& space, const Tables& tables,
                const torch::Tensor& training) {
  const auto N = static_cast<double>(tables.data.samples.size(0));
  const auto M = static_cast<double>(tables.data.held_out.size(0));
  const auto* const p = found.samples.const_data_ptr<double>();
  const auto* const q = found.held_out.const_data_ptr<double>();
  for (int64_t i = 0; i < space.n_variables(); ++i) {
    ColumnComparison& column = out.columns[i];
    double largest = 0.0, distance = 0.0, exact = 0.0;
    int64_t where = 0;
    for (int64_t j = 0; j < space.n_labels(i); ++j) {
      const int64_t at = space.offset(i) + j;
      const double pooled = (N * p[at] + M * q[at]) / (N + M);
      distance += 0.5 * std::abs(p[at] - q[at]);
      exact += 0.5 * std::sqrt(2.0 / M_PI * pooled * (1.0 - pooled) * (1.0 / N + 1.0 / M));
      const double here = standardised(p[at], q[at], N, M);
      if (here <= largest) continue;
      largest = here;
      where = j;
    }
    if (!column.is_number) {
      column.distance = distance;
      column.exact = exact;
      const Space alone = Space::table({{column.name, space.n_labels(i), {}}});
      if (training.defined())
        column.training = mean_difference(alone, training.slice(1, i, i + 1),
                                          tables.data.held_out.slice(1, i, i + 1).to(torch::kInt64));
    }
    if (largest <= found.largest_floor.high) continue;
    column.differs = true;
    const int64_t at = space.offset(i) + where;
    column.where = concat(space.label_name(i, where), ": ", percent_text(p[at]), " of samples, ", percent_text(q[at]),
                          " of held-out rows");
  }
}

// Labels of the three tables in groups.
EvaluationData in_groups(const GroupedTable& groups, const Tables& tables) {
  return {.space = groups.space,
          .samples = groups.labels(tables.data.samples),
          .held_out = groups.labels(tables.data.held_out),
          .train = {},
          .real = tables.has_train() ? groups.labels(tables.training) : torch::Tensor(),
          .independent = groups.labels(tables.independent)};
}

// Shares of labels, recurring values and intervals: the metrics if they are wanted, and what columns are off.
void add_column_shares(TableEvaluation& out, const Tables& tables) {
  const GroupedTable groups(tables.data.columns, tables.pooled(), kShareGroups);
  const EvaluationData data = in_groups(groups, tables);
  Evaluation found;
  add_shares(found, data, tables.options.seed, "column");
  set_shares(out, found.marginals, groups.space, tables, data.real);
  if (tables.options.with_shares)
    std::move(found.metrics.begin(), found.metrics.end(), std::back_inserter(out.metrics));
}

// ---- pairs ----------------------------------------------------------------------------------------------------------

void add_information(TableEvaluation& out, const EvaluationData& data, const Tables& tables) {
  const auto families = choose_pairs(data.space);
  if (families.empty()) return;
  const torch::Tensor& first = families.front().first;
  const torch::Tensor& second = families.front().second;
  const MergedLabels merged = merge_rare_labels(data.space, torch::cat({data.samples, data.held_out}));
  const auto held_out = merged.apply(data.held_out);
  const auto samples = merged.apply(data.samples);
  const auto found = compare_information(merged.space, first, second, samples, held_out, tables.options.seed);
  const auto other = [&](const torch::Tensor& labels) -> std::optional<torch::Tensor> {
    if (!labels.defined()) return std::nullopt;
    return mutual_information(merged.space, first, second, merged.apply(labels));
  };
  const auto training = other(data.real);
  const auto independent = other(data.independent);
  const auto difference = [&](const std::optional<torch::Tensor>& of) -> std::optional<Estimate> {
    if (!of) return std::nullopt;
    return Estimate{(*of - found.held_out).abs().mean().item<double>()};
  };
  const auto mean = [](const torch::Tensor& of) { return Estimate{of.mean().item<double>()}; };
  const auto at = (found.samples - found.held_out).abs().argmax().item<int64_t>();
  const auto name_of = [&](const torch::Tensor& side) { return data.space.variable_name(side[at].item<int64_t>()); };
  const std::string group = "mutual information";
  out.metrics.push_back({group, "mean difference per pair, in nats", Estimate{found.difference}, found.exact,
                         Better::lower, found.difference > found.exact.high,
                         concat("largest: ", name_of(first), " and ", name_of(second), ", ",
                                short_number(found.samples[at].item<double>()), " among samples, ",
                                short_number(found.held_out[at].item<double>()), " among held-out rows"),
                         difference(training), difference(independent)});
  out.metrics.push_back({group, "mean over the pairs, in nats", mean(found.samples), mean(found.held_out),
                         Better::reference, std::nullopt, "", training ? std::optional(mean(*training)) : std::nullopt,
                         independent ? std::optional(mean(*independent)) : std::nullopt});
  for (int64_t k = 0; k < first.numel(); ++k)
    out.pairs.push_back({first[k].item<int64_t>(), second[k].item<int64_t>(), found.samples[k].item<double>(),
                         found.held_out[k].item<double>()});
}

void add_column_pairs(TableEvaluation& out, const Tables& tables) {
  const GroupedTable groups(tables.data.columns, tables.pooled(), kPairGroups);
  const EvaluationData data = in_groups(groups, tables);
  if (tables.options.with_shares) {
    Evaluation found;
    add_pairs(found, data, tables.options.seed);
    std::move(found.metrics.begin(), found.metrics.end(), std::back_inserter(out.metrics));
  }
  add_information(out, data, tables);
}

// ---- rows -----------------------------------------------------------------------------------------------------------

// The columns that trees used the most: "mostly by PageValues (62%)".
std::string used_most(const std::vector<ValueColumn>& columns, const std::vector<double>& gains) {
  std::vector<size_t> order(gains.size());
  for (size_t c = 0; c < order.size(); ++c) order[c] = c;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return gains[a] > gains[b]; });
  std::string text;
  for (size_t k = 0; k < std::min<size_t>(order.size(), kNamed); ++k)
    if (gains[order[k]] >= kWorthNaming)
      text += concat(text.empty() ? "by " : ", ", columns[order[k]].name, " (", percent_text(gains[order[k]]), ")");
  return text;
}

// A test against real rows, beside that of other real rows (undefined: none).
void add_test(TableEvaluation& out, const Tables& tables, const std::string& against, const torch::Tensor& real,
              const torch::Tensor& others) {
  const auto& columns = tables.data.columns;
  const uint64_t seed = tables.options.seed;
  tables.report("two-sample test");
  const auto samples = two_sample_test(columns, real, tables.data.samples, seed);
  std::optional<TwoSampleTest> exact;
  if (others.defined() && others.size(0) >= kFewestTested)
    exact = two_sample_test(columns, real, choose_rows(others, samples.n_rows, seed, 4), seed);
  tables.report("two-sample test");
  const auto independent = two_sample_test(columns, real, tables.independent, seed);
  const bool differs = samples.auc.low > 0.5 && (!exact || difference(samples.auc, exact->auc).low > 0.0);
  const std::string group = "two-sample test";
  const std::string note = concat(samples.n_rows, " rows of each");
  Estimate half{0.5};
  out.metrics.push_back({group, concat("AUC against ", against, " rows"), samples.auc, half, Better::reference, differs,
                         note, exact ? std::optional(exact->auc) : std::nullopt, independent.auc});
  out.metrics.push_back({group, concat("detection score against ", against, " rows"), samples.score(), Estimate{1.0},
                         Better::reference, std::nullopt, "1 - max(0, 2 AUC - 1)",
                         exact ? std::optional(exact->score()) : std::nullopt, independent.score()});
  const std::string others_text = exact ? concat(", other real rows ", short_number(exact->auc.value)) : "";
  const std::string used = used_most(columns, samples.gains);
  out.verdicts.push_back(
      concat(differs ? "Boosted trees tell samples from " : "Boosted trees do not tell samples from ", against,
             differs ? " rows: AUC " : " rows beyond the error: AUC ", estimate_text(samples.auc), others_text,
             differs && !used.empty() ? "; " + used : "", "."));
}

void add_two_sample_tests(TableEvaluation& out, const Tables& tables) {
  const TableEvaluationData& data = tables.data;
  if (std::min(data.samples.size(0), data.held_out.size(0)) < kFewestTested) {
    out.left_out.push_back(concat("two-sample test: fewer than ", kFewestTested, " rows"));
    return;
  }
  add_test(out, tables, "held-out", data.held_out, data.train);
  if (tables.has_train() && data.train.size(0) >= kFewestTested)
    add_test(out, tables, "training", data.train, data.held_out);
}

// ---- usefulness -----------------------------------------------------------------------------------------------------

double correlation_of(const std::vector<double>& x, const std::vector<double>& y) {
  const auto values = torch::stack({torch::tensor(x, torch::kFloat64), torch::tensor(y, torch::kFloat64)});
  const auto centred = values - values.mean(1, true);
  const double product = (centred[0].square().sum() * centred[1].square().sum()).item<double>();
  return product > 0.0 ? (centred[0] * centred[1]).sum().item<double>() / std::sqrt(product) : 0.0;
}

void add_use_of_scores(TableEvaluation& out, const Tables& tables, int64_t target, const std::string& group,
                       const Usefulness& samples, const Usefulness& training, const Usefulness& independent) {
  const auto values = tables.data.held_out.select(1, target).contiguous();
  const auto sides = [&](const Usefulness& found) {
    RocSamples scores;
    for (size_t k = 0; k < found.score.size(); ++k)
      (values.const_data_ptr<double>()[k] == 0.0 ? scores.inside : scores.outside).push_back(found.score[k]);
    return scores;
  };
  const RocSamples x = sides(samples);
  const RocSamples y = sides(training);
  if (x.inside.size() < 2 || x.outside.size() < 2) return;
  const auto auc = [](const RocSamples& of) {
    const Roc found = roc(of.inside, of.outside);
    return Estimate{found.auroc, found.low, found.high};
  };
  out.metrics.push_back(beside(group, "AUC on held-out rows", auc(x), auc(y), "", auroc_correlation(x, y)));
  out.metrics.back().independent = auc(sides(independent));
}

void add_usefulness(TableEvaluation& out, const Tables& tables, int64_t target) {
  const auto& columns = tables.data.columns;
  const std::string name = columns[target].name;
  if (!tables.has_train()) {
    out.left_out.push_back("train on synthetic, test on real: there are no training rows");
    return;
  }
  tables.report("learning from samples");
  const auto learned = [&](const torch::Tensor& rows) {
    return learn_and_predict(columns, target, rows, tables.data.held_out);
  };
  const auto samples = learned(tables.data.samples);
  const auto training = learned(tables.training);
  const auto independent = learned(tables.independent);
  if (samples.right.size() < 2) return;
  const std::string group = concat("trained on samples, tested on held-out rows: ", name);
  const size_t first = out.metrics.size();
  if (!samples.score.empty()) add_use_of_scores(out, tables, target, group, samples, training, independent);
  const auto mean = [&](const Usefulness& of) {
    const auto values = torch::tensor(of.right, torch::kFloat64);
    return columns[target].is_number() ? mean_estimate(values) : mean_share_estimate(values);
  };
  const std::string note = columns[target].is_number()
                               ? concat("R2 ", short_number(samples.explained), ", trained on training rows ",
                                        short_number(training.explained))
                               : "";
  out.metrics.push_back(beside(group, columns[target].is_number() ? "mean absolute error" : "accuracy", mean(samples),
                               mean(training), note, correlation_of(samples.right, training.right)));
  out.metrics.back().independent = mean(independent);
  const Metric& main = out.metrics[first];
  if (!*main.differs) return;
  const bool is_error = columns[target].is_number();
  const bool is_worse = (main.value.value < main.reference.value) != is_error;
  out.verdicts.push_back(concat("Trees that learned from samples predict ", name, is_worse ? " worse" : " better",
                                " than trees that learned from as many training rows: ", main.name, " ",
                                short_number(main.value.value), " against ", short_number(main.reference.value), "."));
}

// ---- memorisation ---------------------------------------------------------------------------------------------------

void add_copies(TableEvaluation& out, const Tables& tables) {
  const TableEvaluationData& data = tables.data;
  const auto share = [&](const torch::Tensor& rows) {
    return share_estimate(static_cast<double>(count_copies(rows, data.train)), static_cast<double>(rows.size(0)));
  };
  const Estimate copies = share(data.samples);
  const Estimate natural = share(data.held_out);
  Metric metric = beside("memorisation", "rows that are exact copies of training rows", copies, natural);
  metric.independent = share(tables.independent);
  if (difference(copies, natural).low > 0.0)
    out.verdicts.push_back(concat("Samples repeat training rows: ", percent_text(copies.value),
                                  " are exact copies, of held-out rows ", percent_text(natural.value), "."));
  out.metrics.push_back(std::move(metric));
}

void add_nearest(TableEvaluation& out, const Tables& tables) {
  const TableEvaluationData& data = tables.data;
  tables.report("nearest rows");
  const double cells = static_cast<double>(data.train.size(0)) * static_cast<double>(data.columns.size());
  const auto count = std::clamp(static_cast<int64_t>(kNearestWork / cells), kFewestNearest, kMostNearest);
  const auto nearest = [&](const torch::Tensor& rows) { return nearest_rows(data.columns, rows, data.train); };
  const auto of_samples = nearest(data.samples.slice(0, 0, std::min(count, data.samples.size(0))));
  const auto of_held_out = nearest(choose_rows(data.held_out, count, tables.options.seed, 5));
  const auto of_independent = nearest(tables.independent.slice(0, 0, std::min(count, tables.independent.size(0))));
  for (size_t k = 0; k < of_samples.row.size(); ++k)
    out.of_samples.push_back({of_samples.row[k], of_samples.distance[k]});
  out.held_out_distances = of_held_out.distance;
  const auto values = [](const NearestRows& of) { return torch::tensor(of.distance, torch::kFloat64); };
  const auto nearer = probability_below(values(of_samples), values(of_held_out));
  const std::string group = "memorisation";
  const std::string what = "no measure of privacy";
  out.metrics.push_back({group, "chance that a sample is nearer to the training rows than a held-out row", nearer,
                         Estimate{0.5}, Better::reference, excludes(nearer, 0.5), what, std::nullopt,
                         probability_below(values(of_independent), values(of_held_out))});
  out.metrics.push_back(beside(group, "distance to the nearest training row, median",
                               quantile_estimate(values(of_samples), 0.5), quantile_estimate(values(of_held_out), 0.5),
                               "mean over the columns: ranks of numbers, labels that differ"));
  out.metrics.back().independent = quantile_estimate(values(of_independent), 0.5);
}

void add_row_memorisation(TableEvaluation& out, const Tables& tables) {
  if (!tables.has_train()) {
    out.left_out.push_back("copies and nearest training rows: there are no training rows");
    return;
  }
  add_copies(out, tables);
  add_nearest(out, tables);
}

// ---- all ------------------------------------------------------------------------------------------------------------

// Which columns are off, the most distant first.
std::string columns_verdict(const std::vector<ColumnComparison>& columns) {
  std::vector<const ColumnComparison*> off;
  for (const ColumnComparison& column : columns)
    if (column.differs) off.push_back(&column);
  if (off.empty()) return "No column is significantly off.";
  std::stable_sort(off.begin(), off.end(), [](const auto* a, const auto* b) { return a->distance > b->distance; });
  std::string text = concat("Significantly off: ", off.size(), " of ", columns.size(), " columns: ");
  for (size_t k = 0; k < std::min<size_t>(off.size(), kNamed); ++k)
    text += concat(k == 0 ? "" : "; ", off[k]->name, " (",
                   off[k]->where.empty() ? concat("distance ", short_number(off[k]->distance)) : off[k]->where, ")");
  return text + (off.size() > kNamed ? "; ..." : ".");
}

int64_t find_target(const std::vector<ValueColumn>& columns, const std::string& target) {
  std::vector<std::string> names;
  for (size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].name == target) return static_cast<int64_t>(c);
    names.push_back(columns[c].name);
  }
  fail_input("target ", printable(target), ": the table has no such column; the nearest is ",
             printable(nearest(target, names)));
}

}  // namespace

std::string default_target(const std::vector<ValueColumn>& columns) {
  if (columns.size() < 2 || columns.back().is_number()) return "";
  const int64_t n_labels = columns.back().labels.size();
  return n_labels >= 2 && n_labels <= kMostTargetLabels ? columns.back().name : "";
}

TableEvaluation evaluate_table(const TableEvaluationData& data, const TableEvaluationOptions& options) {
  if (data.samples.size(0) < 2 || data.held_out.size(0) < 2)
    fail_input("evaluating needs at least two samples and two held-out rows, found ", data.samples.size(0), " and ",
               data.held_out.size(0));
  const std::string target = options.target.empty() ? default_target(data.columns) : options.target;
  const bool is_none = target.empty() || target == "none";
  const int64_t target_at = is_none ? -1 : find_target(data.columns, target);
  const Tables tables(data, options);
  TableEvaluation out;
  describe_columns(out, tables);
  tables.report("comparing columns");
  add_numbers(out, tables);
  add_column_shares(out, tables);
  out.verdicts.push_back(columns_verdict(out.columns));
  tables.report("comparing pairs");
  add_column_pairs(out, tables);
  if (data.columns.size() > 1) add_two_sample_tests(out, tables);
  if (target_at >= 0) add_usefulness(out, tables, target_at);
  if (options.with_shares) add_row_memorisation(out, tables);
  return out;
}

}  // namespace segre
