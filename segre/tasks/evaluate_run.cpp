#include "segre/tasks/evaluate_run.h"

#include <algorithm>

#include "segre/core/clock.h"
#include "segre/core/error.h"
#include "segre/core/memory.h"
#include "segre/data/split.h"
#include "segre/eval/metric_text.h"
#include "segre/eval/two_sample.h"
#include "segre/flow/draw.h"
#include "segre/runs/sampling_flow.h"
#include "segre/sources/relabel.h"
#include "segre/sources/source_kinds.h"
#include "segre/tasks/score.h"
#include "segre/tasks/training_items.h"

namespace segre {
namespace {

constexpr int64_t kFewestSamples = 1'000;  // unless the user gives a number
constexpr int64_t kMostSamples = 10'000;
constexpr int64_t kMembers = 1'000;         // training rows, and as many held-out ones, whose log p are compared
constexpr int64_t kMemberEvaluations = 32;  // of the network for each
constexpr int64_t kFewestMembers = 20;

// Items of a source and which they are.
struct ChosenItems {
  torch::Tensor labels;  // [count, n]
  torch::Tensor items;   // [count] int64
};

// All items of a source, or `most` of them at random. `what` is the source as the user gave it.
ChosenItems held_out_items(const DataSource& source, int64_t most, const std::string& what) {
  require_complete(source, what);
  const int64_t n = source.n_items();
  if (n == 0 && most == 0) fail_input(what, ": is endless; give the number of items");
  const int64_t count = n == 0 ? most : most == 0 ? n : std::min(n, most);
  const Dataset* dataset = source.dataset();
  auto rows = torch::arange(count, torch::kInt64);
  torch::Tensor labels = dataset == nullptr ? source.rows(0, count) : dataset->labels;
  if (labels.size(0) > count) {
    for (int64_t k = 0; k < count; ++k) rows.data_ptr<int64_t>()[k] = shuffled({0, Purpose::evaluation_rows}, 0, k, n);
    labels = labels.index_select(0, rows);
  }
  return {labels.to(label_type(source.space())), rows};
}

// Adds the training items and, if training mirrored them, their mirror images. Returns a description for the report.
std::string add_training_items(EvaluationData& data, const DataSource& source, const std::string& name) {
  if (source.n_items() == 0)
    return concat("Training items of ", name, " are generated endlessly: there are none to copy.");
  if (source.has_unknowns())
    return concat("Training items of ", name, " have unknown cells: samples are not compared with them.");
  data.train = all_labels(source);
  data.n_train = data.train.size(0);
  if (!source.mirrors()) return concat(data.n_train, " training items of ", name, ".");
  const auto& shape = data.space.item_shape();
  data.train = torch::cat({data.train, data.train.view({-1, shape[0], shape[1]}).flip({2}).view_as(data.train)});
  return concat(data.n_train, " training items of ", name,
                ", and their mirror images, which training saw as well: both are searched for the nearest.");
}

// Samples as one tensor: [count, n]; undefined on ranks other than 0.
torch::Tensor draw_all(const Sampler& sampler, int64_t count, const std::shared_ptr<Ranks>& ranks, DrawTotals& totals,
                       const WorkCallbacks& callbacks) {
  const Space& space = sampler.space();
  require_memory(2.0 * static_cast<double>(count) * static_cast<double>(space.n_variables()),
                 concat(count, " samples of the ", space.describe()), torch::kCPU);
  std::vector<torch::Tensor> all;
  totals = draw_samples(
      sampler, count, [&](const torch::Tensor& labels, int64_t) { all.push_back(labels.to(label_type(space))); },
      callbacks, {}, ranks);
  return ranks->is_first() ? torch::cat(all) : torch::Tensor();
}

// ---- values of tables -----------------------------------------------------------------------------------------------

std::shared_ptr<DataSource> opened(const Space& space, const std::shared_ptr<const TableInMemory>& table,
                                   const std::string& name, const std::string& what) {
  return table ? table->source : open_source_for(space, name, what);
}

// All rows of a table as a reader reads them: undefined if the source is not one of cells, but of labels alone.
torch::Tensor table_values(ValueReader& reader, const std::shared_ptr<const TableInMemory>& table,
                           const std::string& name, const std::string& what) {
  if (table && table->frame.columns.empty()) return {};
  if (table) {
    const SourceName options = parse_source_name(table->options);
    return reader.read(*frame_rows(table->frame, options), what);
  }
  const SourceName source = parse_source_name(name);
  return source.kind() == "csv" ? reader.read_csv(source, what) : torch::Tensor();
}

// The values of items of a source, given those of all rows of its table (undefined: those of the labels).
torch::Tensor item_values(ValueReader& reader, const DataSource& source, const torch::Tensor& all,
                          const ChosenItems& chosen, uint64_t seed) {
  if (!all.defined())
    return reader.read_labels(source.space(), chosen.labels, {.random = RandomStream(seed, Purpose::bin_values)});
  auto rows = torch::empty_like(chosen.items);
  for (int64_t k = 0; k < rows.numel(); ++k)
    rows.data_ptr<int64_t>()[k] = source.file_row(chosen.items.const_data_ptr<int64_t>()[k]);
  return all.index_select(0, rows);
}

ChosenItems all_items(const DataSource& source) {
  return {all_labels(source).to(torch::kInt64), torch::arange(source.n_items(), torch::kInt64)};
}

torch::Tensor read_samples(ValueReader& reader, const EvaluateRunOptions& options) {
  const std::string what = options.samples_called + " " + options.samples;
  auto values = table_values(reader, options.samples_table, options.samples, what);
  if (!values.defined()) fail_input(what, ": a table was expected, csv:FILE");
  return choose_rows(values, options.count > 0 ? options.count : kMostSamples, options.seed, 6);
}

bool has_samples(const EvaluateRunOptions& options) { return options.samples_table || !options.samples.empty(); }

bool has_numbers(const std::vector<ValueColumn>& columns) {
  return std::any_of(columns.begin(), columns.end(), [](const ValueColumn& column) { return column.is_number(); });
}

// Evaluates a table, and adds what is found to the metrics.
void add_table(RunEvaluation& out, TableEvaluationData data, const TableEvaluationOptions& options) {
  TableEvaluation found = evaluate_table(data, options);
  out.found.metrics.insert(out.found.metrics.end(), found.metrics.begin(), found.metrics.end());
  out.table = EvaluatedTable{std::move(data), std::move(found)};
}

// ---- membership -----------------------------------------------------------------------------------------------------

// Whether the model's log p tells the rows it learned from from others: all ranks score, and all get the same.
struct Membership {
  std::optional<Estimate> auc{};
  std::string left_out{};  // why there is none
  int64_t n_rows = 0;      // of each kind
};

Membership attack_membership(const LoadedRun& run, const EvaluationData& data, uint64_t seed,
                             const WorkCallbacks& callbacks) {
  Membership found;
  const int64_t n = data.train.defined() ? std::min({data.train.size(0), data.held_out.size(0), kMembers}) : 0;
  if (n < kFewestMembers) {
    found.left_out = concat("fewer than ", kFewestMembers, " complete training rows or held-out rows");
    return found;
  }
  const auto members = choose_rows(data.train, n, seed, 7).to(torch::kInt64);
  const auto others = choose_rows(data.held_out, n, seed, 8).to(torch::kInt64);
  try {
    ScoreOptions options{.error = std::nullopt, .evaluations = kMemberEvaluations, .seed = seed};
    const auto log_p = Scorer(run, options)(torch::cat({members, others}), callbacks).all().log_p;
    found.auc = probability_below(log_p.slice(0, n), log_p.slice(0, 0, n));
    found.n_rows = n;
  } catch (const InputError& error) {
    found.left_out = error.what();
  }
  return found;
}

void add_membership(RunEvaluation& out, const Membership& membership) {
  TableEvaluation& table = out.table->found;
  if (!membership.auc) {
    table.left_out.push_back("membership attack: " + membership.left_out);
    return;
  }
  const Estimate& auc = *membership.auc;
  const bool leaks = auc.low > 0.5;
  const Metric metric{"membership attack",
                      "AUC of the model's log p, training rows against held-out rows",
                      auc,
                      Estimate{0.5},
                      Better::reference,
                      leaks,
                      concat(membership.n_rows, " rows of each; 0.5 is no leak")};
  table.metrics.push_back(metric);
  out.found.metrics.push_back(metric);
  table.verdicts.push_back(
      leaks ? concat("The model's log p tells training rows from held-out rows: AUC ", estimate_text(auc), ".")
            : concat("The model's log p does not tell training rows from held-out rows beyond the error: AUC ",
                     estimate_text(auc), "."));
}

// ---- one run --------------------------------------------------------------------------------------------------------

// Evaluates what was drawn or read as a table. With plain labels, `found` has the shares and copies already.
void evaluate_as_table(RunEvaluation& out, const DataSource& train, const torch::Tensor& held_out_rows,
                       const std::string& train_name, const EvaluateRunOptions& options,
                       const WorkCallbacks& callbacks) {
  const Space& space = out.data.space;
  ValueReader reader(space);
  const bool with_shares = has_numbers(reader.columns()) || has_samples(options);
  TableEvaluationData data;
  const std::string what = options.called + " " + options.data;
  data.held_out = item_values(reader, *out.source, table_values(reader, options.data_table, options.data, what),
                              {out.data.held_out, held_out_rows}, options.seed);
  const std::string train_what = options.train_called + " " + train_name;
  data.train = item_values(reader, train, table_values(reader, options.train_table, train_name, train_what),
                           all_items(train), options.seed);
  data.samples = has_samples(options) ? read_samples(reader, options)
                                      : reader.read_labels(space, out.data.samples,
                                                           {.random = RandomStream(options.seed, Purpose::bin_values)});
  data.columns = reader.take_columns();
  if (!with_shares) {
    if (out.data.train.defined()) {
      out.data.real = choose_rows(out.data.train, out.data.samples.size(0), options.seed, 2);
      out.data.independent =
          choose_rows(shuffle_columns(out.data.train, options.seed), out.data.samples.size(0), options.seed, 3);
    }
    out.found = evaluate(out.data, {.seed = options.seed, .callbacks = callbacks});
  }
  add_table(out, std::move(data),
            {.seed = options.seed, .target = options.target, .with_shares = with_shares, .callbacks = callbacks});
}

int64_t count_of(const EvaluateRunOptions& options, const DataSource& train, bool is_table) {
  if (options.count > 0) return options.count;
  return is_table ? std::clamp(train.n_items(), kFewestSamples, kMostSamples) : kFewestSamples;
}

// Draws the samples and describes them.
void draw_samples_of(RunEvaluation& out, const LoadedRun& run, const std::string& name, int64_t count,
                     const EvaluateRunOptions& options, const WorkCallbacks& callbacks) {
  const double start = now_seconds();
  DrawTotals totals;
  const Sampler sampler(sampling_flow(run), options.sample, options.seed);
  out.data.samples = draw_all(sampler, count, run.ranks, totals, callbacks);
  out.n_evaluations = totals.n_evaluations;
  out.sample_seconds = now_seconds() - start;
  out.setting.insert(out.setting.begin(),
                     concat(count, " samples of ", name, " (step ", run.step, "; ", options.sample.sampler, ", ",
                            totals.n_evaluations / count, " evaluations each), compared with ",
                            out.data.held_out.size(0), " items of ", options.data, "."));
}

}  // namespace

RunEvaluation evaluate_run(const LoadedRun& run, const std::string& name, const EvaluateRunOptions& options,
                           const WorkCallbacks& callbacks) {
  const Space& space = run.model.space();
  const std::string what = options.called + " " + options.data;
  const auto source = opened(space, options.data_table, options.data, what);
  const ChosenItems held_out = held_out_items(*source, options.items, what);
  RunEvaluation out{
      .source = source, .data = {space, {}, held_out.labels, {}, 0, source->joint()}, .found = {}, .setting = {}};
  if (out.data.held_out.size(0) < 2)
    fail_input(what, ": has ", out.data.held_out.size(0), " item, at least 2 are needed");
  const std::string train_name = options.train.empty() ? run.experiment.data : options.train;
  const auto train = options.train_table ? open_run_items(run, options.train_table->source).learned
                                         : open_training_items(run, options.train, options.train_called);
  out.setting.push_back(add_training_items(out.data, *train, train_name));
  if (options.data == train_name && out.data.train.defined() && !options.train_table)
    out.setting.emplace_back(
        "Warning: the held-out items are the training items themselves, so memorisation cannot be assessed; "
        "use other data.");
  const bool is_table = space.is(PartKind::columns) && train->n_items() > 0;
  if (has_samples(options) && !is_table)
    fail_input(options.samples_called, " ", options.samples, ": rows are compared for tables, this is a ",
               space.describe());
  if (has_samples(options)) {
    out.setting.insert(out.setting.begin(), concat("Rows of ", options.samples, ", compared with ",
                                                   out.data.held_out.size(0), " items of ", options.data, "."));
  } else {
    draw_samples_of(out, run, name, count_of(options, *train, is_table), options, callbacks);
  }
  Membership membership{.left_out = "is about a model, not about rows (" + options.samples_called + ")"};
  if (is_table && !has_samples(options)) membership = attack_membership(run, out.data, options.seed, callbacks);
  if (!run.ranks->is_first()) return out;
  if (is_table) {
    evaluate_as_table(out, *train, held_out.items, train_name, options, callbacks);
    add_membership(out, membership);
  } else {
    out.found =
        evaluate(out.data, {.seed = options.seed, .device = run.model.options().device(), .callbacks = callbacks});
  }
  return out;
}

RunEvaluation evaluate_samples(const EvaluateRunOptions& options, const WorkCallbacks& callbacks) {
  const bool has_train = options.train_table || !options.train.empty();
  const std::string space_of = has_train ? options.train : options.data;
  const auto& space_table = has_train ? options.train_table : options.data_table;
  const Space space = space_table ? read_frame(space_table->frame, parse_source_name(space_table->options)).space
                                  : open_source(space_of)->space();
  if (!space.is(PartKind::columns)) fail_input(space_of, ": a table was expected, this is a ", space.describe());
  ValueReader reader(space);
  const auto read = [&](const std::shared_ptr<const TableInMemory>& table, const std::string& name,
                        const std::string& called) {
    auto values = table_values(reader, table, name, called + " " + name);
    if (!values.defined()) fail_input(called, " ", name, ": a table was expected, csv:FILE");
    return values;
  };
  TableEvaluationData data;
  data.held_out = read(options.data_table, options.data, options.called);
  if (options.items > 0) data.held_out = choose_rows(data.held_out, options.items, options.seed, 9);
  if (has_train) data.train = read(options.train_table, options.train, options.train_called);
  data.samples = read_samples(reader, options);
  data.columns = reader.take_columns();
  RunEvaluation out{.source = nullptr, .data = {space, {}, {}, {}}, .found = {}, .setting = {}};
  out.setting.push_back(concat(data.samples.size(0), " rows of ", options.samples, ", compared with ",
                               data.held_out.size(0), " rows of ", options.data, "."));
  if (has_train) out.setting.push_back(concat(data.train.size(0), " training rows of ", options.train, "."));
  add_table(out, std::move(data), {.seed = options.seed, .target = options.target, .callbacks = callbacks});
  add_membership(out, {.left_out = "there is no model"});
  return out;
}

}  // namespace segre
