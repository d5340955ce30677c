#include "segre/tasks/complete.h"

#include <algorithm>
#include <cmath>
#include <iomanip>

#include "segre/core/error.h"
#include "segre/data/label_dictionary.h"
#include "segre/io/csv.h"
#include "segre/runs/sampling_flow.h"
#include "segre/space/blocks.h"
#include "segre/tasks/complete_items.h"
#include "segre/tasks/given.h"
#include "segre/tasks/table_stream.h"

namespace segre {
namespace {

constexpr double kRuledOut = -1e4;  // log-likelihood of an impossible label, finite so that products with 0 stay 0

// The label of missing values of every variable, kUnknown without one: [n]. Undefined if no variable has one.
torch::Tensor missing_labels(const Space& space) {
  auto labels = torch::full({space.n_variables()}, kUnknown, torch::kInt64);
  for (int64_t i = 0; i < space.n_variables(); ++i) {
    if (space.part_of(i).kind != PartKind::columns) continue;
    const int64_t last = space.n_labels(i) - 1;
    if (last > 0 && space.label_name(i, last) == kMissingName) labels[i] = last;
  }
  return (labels >= 0).any().item<bool>() ? labels : torch::Tensor();
}

// Log-likelihoods that rule out the labels of missing values: [S].
torch::Tensor excluding(const Space& space, const torch::Tensor& missing) {
  return one_hot(space, missing.clamp_min(0), torch::kFloat32).mul(kRuledOut).mul(spread(space, missing >= 0));
}

// Log-likelihoods with a maximum of 0 per variable, none below kRuledOut. InputError if all labels of a variable are
// impossible.
torch::Tensor normalised(const Space& space, const torch::Tensor& soft) {
  const auto best = reduce_blocks(space, {soft}, [](const auto& in) { return in[0].amax(-1); });
  if (!best.isfinite().all().item<bool>())
    fail_input("log-likelihoods must have a finite largest value for each variable of each item");
  return (soft - spread(space, best)).clamp_min(kRuledOut);
}

// Log-likelihoods of labels that were replaced with probability p by one drawn uniformly: [B, S].
torch::Tensor noisy_evidence(const Space& space, const torch::Tensor& labels, double p) {
  const auto hot = one_hot(space, labels.clamp_min(0), torch::kFloat32);
  const auto seen = spread(space, labels >= 0);
  const auto soft = map_blocks(space, {hot}, [p](const auto& in) {
    return ((1.0 - p) * in[0] + p / static_cast<double>(in[0].size(-1))).log();
  });
  return torch::where(seen, soft, torch::zeros({1}));
}

}  // namespace

Completer::Completer(const LoadedRun& run, const CompleteOptions& options)
    : Completer(run, options, std::make_shared<Sampler>(sampling_flow(run), options.sample, options.seed)) {}

Completer::Completer(const LoadedRun& run, const CompleteOptions& options, std::shared_ptr<const Sampler> sampler)
    : options_(options), ranks_(run.ranks), sampler_(std::move(sampler)), missing_(missing_labels(run.model.space())) {
  if (run.model.form() != Form::evidence)
    fail_input("this model has model.form = \"", run.model.form() == Form::velocity ? "velocity" : "endpoint",
               "\" and does not accept known labels; train one with model.form = \"evidence\"");
  if (!(options.noise >= 0.0 && options.noise < 1.0))
    fail_input("noise = ", options.noise, ": expected a probability from 0 to below 1");
  note_untold(run);
}

Known Completer::known_of(const torch::Tensor& labels, const torch::Tensor& soft) const {
  const Space& model_space = space();
  check_labels(model_space, labels, Unknowns::allow);
  Known known;
  known.labels = labels;
  if (options_.holes_as_trained && missing_.defined())
    known.labels = torch::where(labels == kUnknown, missing_, labels);
  if (options_.given.defined())
    known.labels = torch::where(options_.given, known.labels, torch::full({1}, kUnknown, torch::kInt64));
  std::vector<torch::Tensor> evidence;
  if (options_.noise > 0.0) {
    evidence.push_back(noisy_evidence(model_space, known.labels, options_.noise));
    known.labels = torch::full_like(labels, kUnknown);
  }
  if (soft.defined()) evidence.push_back(normalised(model_space, soft).to(torch::kFloat32));
  if (missing_.defined()) evidence.push_back(excluding(model_space, missing_).expand({labels.size(0), -1}));
  for (const auto& part : evidence) known.soft = known.soft.defined() ? known.soft + part : part;
  return known;
}

int64_t Completer::items_per_call() const { return 16 * sampler_->rows_per_block(); }

torch::Tensor Completer::draw(const Known& known, uint64_t first, int64_t draw) const {
  return sampler_->complete(known, first, draw).labels;
}

torch::Tensor Completer::draws(const Known& known, uint64_t first, int64_t from_draw, int64_t draws) const {
  return sampler_->completions(known, first, from_draw, draws);
}

bool Completer::sees_unknown(int64_t variable) const {
  return options_.noise > 0.0 && (!options_.given.defined() || options_.given[variable].item<bool>());
}

torch::Tensor Completer::probabilities(const Known& known, uint64_t first) const {
  return with_corners(space(), {.labels = known.labels}, sampler_->probabilities(known, first));
}

torch::Tensor Completer::best(const torch::Tensor& probabilities) const {
  return argmax_labels(space(), probabilities);
}

void write_probabilities(std::ostream& out, const Space& space, const torch::Tensor& labels,
                         const torch::Tensor& probabilities, bool with_header, const std::vector<int64_t>& rows) {
  if (with_header) out << "row,column,label,probability\n";
  const auto p = probabilities.contiguous();
  out << std::setprecision(6);
  const auto columns = space.columns_and_variables();
  for (int64_t k = 0; k < labels.size(0); ++k) {
    const auto* label = labels[k].const_data_ptr<int64_t>();
    const auto* row = p[k].const_data_ptr<double>();
    for (const Column& column : columns) {
      const int64_t i = column.first;
      if (label[i] != kUnknown) continue;
      for (int64_t j = 0; j < space.n_labels(i); ++j) {
        if (space.label_name(i, j) == kMissingName) continue;
        out << rows[k] << ',' << csv_field(column.name) << ',' << csv_field(space.label_name(i, j)) << ','
            << row[space.offset(i) + j] << '\n';
      }
    }
  }
}

namespace {

// `name`, or with underscores after it until no column is called that.
std::string unused_name(std::string name, const std::vector<std::string>& taken) {
  while (std::find(taken.begin(), taken.end(), name) != taken.end()) name += '_';
  return name;
}

// Writes completed rows of a table in the form of its file.
class TableWriter {
 public:
  TableWriter(const Completer& completer, const TableStream& table, const CompleteOutputs& outputs, uint64_t seed)
      : completer_(completer),
        space_(completer.space()),
        stream_(table),
        table_(table.table()),
        outputs_(outputs),
        values_(seed, Purpose::bin_values) {
    for (int64_t i = 0; i < space_.n_variables(); ++i) keeps_.push_back(completer.sees_unknown(i));
  }

  void write_header() const {
    if (outputs_.out == nullptr || !table_.has_header() || !completer_.ranks()->is_first()) return;
    std::string line = outputs_.draws > 1 ? unused_name("draw", table_.all_names()) : "";
    for (const std::string& name : table_.all_names()) {
      if (!line.empty()) line += table_.delimiter();
      line += csv_field(name, table_.delimiter());
    }
    *outputs_.out << line << table_.line_end();
  }

  void write(const CompletedItems& done) const {
    if (done.probabilities.defined() && outputs_.probabilities != nullptr)
      write_probabilities(*outputs_.probabilities, space_, done.known, done.probabilities, done.first == 0, done.rows);
    for (int64_t row = 0; row < done.known.size(0) && done.labels.defined(); ++row)
      for (int64_t k = 0; k < done.labels.size(1); ++k) write_row(done, row, k);
  }

 private:
  void write_row(const CompletedItems& done, int64_t row, int64_t draw) const {
    std::vector<std::string> fields = stream_.fields()[row];
    const auto* before = done.known[row].const_data_ptr<int64_t>();
    const auto* after = done.labels[row][draw].const_data_ptr<int64_t>();
    const auto* in_file = done.data[row].const_data_ptr<int64_t>();
    // A noisy label that stays keeps its text: a number within a bin, for example. The file's text of a cell that is
    // not taken from it must not come back, though: it would be the truth where the drawn bin is right.
    for (const Column& column : columns_) {
      const int64_t i = column.first;
      if (!stays(column, after + i, {.known = before + i, .data = in_file + i, .keeps = keeps_[i]}))
        fields[stream_.field(i)] = text_of(column, after + i, done.first + row, draw);
    }
    const char delimiter = table_.delimiter();
    std::string line = outputs_.draws > 1 ? std::to_string(draw + 1) : "";
    for (const std::string& field : fields) {
      if (&field != fields.data() || outputs_.draws > 1) line += delimiter;
      line += csv_field(field, delimiter);
    }
    *outputs_.out << line << table_.line_end();
  }

  std::string text_of(const Column& column, const int64_t* labels, int64_t row, int64_t draw) const {
    const BinValues values{.random = values_.part(draw)};
    const double u = outputs_.draws == 0 ? kMiddle : values.within(space_, row, column.first);
    return cell_text(space_, column, labels, u);
  }

  const Completer& completer_;
  Space space_;
  const TableStream& stream_;
  const CsvRows& table_;
  CompleteOutputs outputs_;
  std::vector<Column> columns_ = space_.columns();
  RandomStream values_;
  std::vector<bool> keeps_;  // variables whose text stays where their label does
};

}  // namespace

bool stays(const Column& column, const int64_t* labels, const CellOrigin& origin) {
  const auto end = origin.known + column.n_variables;
  if (std::find(origin.known, end, kUnknown) == end) return true;
  return origin.keeps && std::equal(labels, labels + column.n_variables, origin.data);
}

int64_t complete_csv(const Completer& completer, const SourceName& name, const std::string& what,
                     const CompleteOutputs& outputs, uint64_t seed, const WorkCallbacks& callbacks) {
  TableStream table(name, completer.space(), what, /*keeps_fields=*/outputs.out != nullptr);
  const TableWriter writer(completer, table, outputs, seed);
  writer.write_header();
  const CompletionWanted wanted{
      .draws = outputs.draws, .labels = outputs.out != nullptr, .probabilities = outputs.probabilities != nullptr};
  return complete_items(
      completer, table, wanted, [&](const CompletedItems& done) { writer.write(done); }, callbacks);
}

}  // namespace segre
