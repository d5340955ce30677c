#include "segre/tasks/to_json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

#include "segre/core/error.h"
#include "segre/data/label_dictionary.h"
#include "segre/eval/metric_text.h"
#include "segre/ood/verdict.h"

namespace segre {
namespace {

double number_at(const torch::Tensor& values, int64_t k) { return values[k].item<double>(); }

// The number of an item in its file, counted from 0.
int64_t item_number(const std::vector<int64_t>& file_rows, int64_t item) {
  return file_rows.empty() ? item : file_rows[static_cast<size_t>(item)];
}

Json of(const Measured& measured) { return {{"value", measured.value}, {"error", measured.error}}; }

Json of(const Estimate& estimate) {
  return {{"value", estimate.value}, {"low", estimate.low}, {"high", estimate.high}};
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

// The probability of each label of a variable, p [c]: not that of missing values, which is never an answer.
Json of_labels(const Space& space, int64_t variable, const torch::Tensor& p) {
  Json labels = Json::object();
  for (int64_t j = 0; j < space.n_labels(variable); ++j)
    if (const auto name = space.label_name(variable, j); name != kMissingName) labels[name] = number_at(p, j);
  return labels;
}

// One number per column, by its name: the sum over its variables of values [n].
Json of_columns(const Space& space, const torch::Tensor& values) {
  Json cells = Json::object();
  for (const Column& column : space.columns_and_variables())
    cells[column.name] = values.narrow(0, column.first, column.n_variables).sum().item<double>();
  return cells;
}

// Adds how likely the condition of a request is, if it states one.
Json with_condition(Json json, const std::optional<ConditionReport>& condition) {
  if (!condition) return json;
  json["condition"] = {{"text", condition->text},
                       {"log_p", condition->log_p},
                       {"is_density", condition->is_density},
                       {"expected_rows", condition->expected_rows}};
  return json;
}

// The completions of one item of a table; those of other items are the labels' own.
class CompletedTable {
 public:
  explicit CompletedTable(const Completed& result)
      : space_(result.space), result_(result), values_(result.request.options.seed, Purpose::bin_values) {}

  Json row(int64_t item, int64_t draw) const {
    const CompletedItems& items = result_.items;
    Json cells = Json::object();
    const auto labels = items.labels[item][draw].to(torch::kInt64).contiguous();
    const auto known = items.known[item].contiguous();
    const auto data = items.data[item].contiguous();
    for (const Column& column : space_.columns()) {
      const int64_t i = column.first;
      const auto* label = labels.const_data_ptr<int64_t>() + i;
      const CellOrigin origin{.known = known.const_data_ptr<int64_t>() + i,
                              .data = data.const_data_ptr<int64_t>() + i,
                              .keeps = result_.keeps[i]};
      Json& cell = cells[column.name];
      if (*label < 0 || space_.label_name(i, *label) == kMissingName) continue;  // null
      cell = stays(column, label, origin) ? own_value(item, i, *label)
             : is_answer(item, i)         ? answer(item, i)
                                          : drawn(item, draw, column, label);
    }
    return cells;
  }

 private:
  // What the user wrote, if it says more than the label.
  Json own_value(int64_t item, int64_t variable, int64_t label) const {
    const auto& texts = result_.items.texts;
    if (space_.bins(variable) == nullptr || texts.empty()) return space_.label_name(variable, label);
    return cell_of(space_, variable, texts[item][variable]);
  }
  // Whether a cell has the number of the best completion.
  bool is_answer(int64_t item, int64_t variable) const {
    const auto& numbers = result_.items.numbers;
    return numbers.defined() && !std::isnan(numbers[item][variable].item<double>());
  }
  Json answer(int64_t item, int64_t variable) const {
    const auto number = result_.items.numbers[item][variable].item<double>();
    return cell_of(space_, variable, answer_text(*space_.bins(variable), number));
  }
  Json drawn(int64_t item, int64_t draw, const Column& column, const int64_t* label) const {
    const BinValues values{.random = values_.part(draw)};
    const double u = result_.request.wanted.draws == 0 ? kMiddle : values.within(space_, item, column.first);
    const std::string text = cell_text(space_, column, label, u, result_.request.options.condition.values().get());
    const Bins* bins = space_.bins(column.first);
    return bins == nullptr || *label >= bins->size() ? Json(text) : cell_of(space_, column.first, text);
  }

  const Space& space_;
  const Completed& result_;
  RandomStream values_;
};

Json unknown_cells(const Completed& result, int64_t item) {
  const Space& space = result.space;
  Json cells = Json::object();
  for (const Column& column : space.columns_and_variables()) {
    const int64_t i = column.first;
    if (result.items.known[item][i].item<int64_t>() == kUnknown)
      cells[column.name] =
          of_labels(space, i, result.items.probabilities[item].narrow(0, space.offset(i), space.n_labels(i)));
  }
  return cells;
}

// How a score came about and what it means.
Json how_scored(const Scores& scores) {
  return {{"method", scores.method},
          {"meaning", scores.meaning},
          {"is_bound", scores.kind == ScoreKind::lower_bound},
          {"spent", scores.reached.spent},
          {"unit", scores.unit},
          {"reached", !scores.reached.capped && !(scores.reached.state.error > scores.reached.state.wanted)},
          {"t1", scores.t1 > 0.0 ? Json(scores.t1) : Json()}};
}

Json of(const ScoreSummary& mean) {
  return {{"items", mean.n_items},
          {"distinct", mean.n_distinct},
          {"variables", mean.n_variables},
          {"log_p", mean.log_p},
          {"std_error", mean.estimation_error},
          {"integration_error", mean.integration_error},
          {"population_error", mean.sampling_error}};
}

Json of(const Metric& metric) {
  return {{"group", metric.group},
          {"name", metric.name},
          {"value", of(metric.value)},
          {"reference", of(metric.reference)},
          {"better", better_text(metric.better)},
          {"differs", metric.differs ? Json(*metric.differs) : Json()},
          {"note", text_or_null(metric.note)},
          {"training", metric.training ? of(*metric.training) : Json()},
          {"independent", metric.independent ? of(*metric.independent) : Json()}};
}

Json of(const ColumnComparison& column) {
  Json json{{"name", column.name},
            {"measure", column.is_number ? "Kolmogorov-Smirnov distance" : "total variation"},
            {"distance", column.distance},
            {"exact", column.exact},
            {"training", column.training ? Json(*column.training) : Json()},
            {"differs", column.differs},
            {"where", text_or_null(column.where)}};
  if (!column.is_number) return json;
  json["samples"] = {{"mean", column.samples_mean}, {"standard_deviation", column.samples_spread}};
  json["held_out"] = {{"mean", column.held_out_mean}, {"standard_deviation", column.held_out_spread}};
  return json;
}

void add(Json& json, const TableEvaluation& found) {
  json["verdicts"] = found.verdicts;
  json["columns"] = Json::array();
  for (const ColumnComparison& column : found.columns) json["columns"].push_back(of(column));
  json["pairs"] = Json::array();
  for (const PairInformation& pair : found.pairs)
    json["pairs"].push_back({{"columns", {found.columns[pair.first].name, found.columns[pair.second].name}},
                             {"samples", pair.samples},
                             {"held_out", pair.held_out}});
  json["left_out"] = found.left_out;
}

Json of(const Separation& score) {
  return {{"key", score.key},
          {"name", score.name},
          {"family", family_name(score.family)},
          {"auroc", of(Estimate{score.roc.auroc, score.roc.low, score.roc.high})},
          {"fpr95", of(Estimate{score.roc.fpr95, score.roc.fpr95_low, score.roc.fpr95_high})},
          {"lead", of(score.lead)}};
}

Json of(const ExaminedItems& items) {
  Json rows = Json::array();
  for (int64_t k = 0; k < items.nats.numel(); ++k) {
    Json scores = Json::object();
    for (const OutsideScore& score : items.scores) scores[score.key] = number_at(score.values, k);
    rows.push_back({{"item", items.numbers[k].item<int64_t>()},
                    {"nats", number_at(items.nats, k)},
                    {"std_error", number_at(items.std_error, k)},
                    {"scores", scores}});
  }
  return {{"source", items.source}, {"items", rows}};
}

Json of(const RarePair& pair, const OddRows& rows, int64_t item) {
  return {{"labels", describe(pair, rows.space, rows.labels[item])}, {"seen", pair.seen}, {"expected", pair.expected}};
}

Json odd_row(const OddRows& rows, int64_t rank, int64_t item) {
  const auto k = static_cast<size_t>(item);
  const auto* pair = rows.pairs.empty() || !rows.pairs[k] ? nullptr : &*rows.pairs[k];
  Json row{{"rank", rank},
           {"item", item_number(rows.file_rows, item)},
           {"place", text_or_null(rows.places[k])},
           {"score", number_at(rows.score, item)},
           {"std_error", number_at(rows.std_error, item)},
           {"percentile", number_at(rows.percentile, item)},
           {"column",
            rows.variable.defined() ? Json(rows.space.column_of(rows.variable[item].item<int64_t>()).name) : Json()},
           {"pair", pair == nullptr ? Json() : of(*pair, rows, item)},
           {"nats", number_at(rows.nats, item)},
           {"nats_error", number_at(rows.nats_error, item)},
           {"independent", number_at(rows.independent, item)},
           {"outside", rows.is_outside(item) ? Json(rows.outside[k]) : Json()}};
  row["row"] = rows_of(rows.space, rows.labels.slice(0, item, item + 1))[0];
  return row;
}

}  // namespace

Json to_json(const Sampled& result) {
  const SampleRequest& request = result.request;
  const auto count = static_cast<double>(request.count);
  const BinValues values{.random = RandomStream(request.seed, Purpose::bin_values),
                         .names_of_bins = !request.numbers,
                         .given = request.given.values()};
  Json json{{"count", request.count},
            {"seed", request.seed},
            {"sampler", request.sample.sampler},
            {"t1", result.cost.t1},
            {"evaluations_each", static_cast<double>(result.cost.totals.n_evaluations) / count},
            {"undecided", static_cast<double>(result.cost.totals.n_undecided) /
                              (count * static_cast<double>(result.space.n_variables()))}};
  if (const auto& known = result.cost.total_variation)
    json["total_variation"] = {{"value", known->value}, {"exact_samples", known->floor}};
  json["samples"] = rows_of(result.space, result.labels, values);
  json["notes"] = result.notes;
  return with_condition(std::move(json), result.condition);
}

Json to_json(const Completed& result) {
  const CompletedItems& items = result.items;
  const CompletedTable table(result);
  Json rows = Json::array();
  for (int64_t k = 0; k < static_cast<int64_t>(items.rows.size()); ++k) {
    Json row{{"row", items.rows[k]}};
    if (items.labels.defined() && result.space.is(PartKind::columns)) {
      row["completions"] = Json::array();
      for (int64_t d = 0; d < items.labels.size(1); ++d) row["completions"].push_back(table.row(k, d));
    } else if (items.labels.defined()) {
      row["completions"] = rows_of(result.space, items.labels[k]);
    }
    if (items.probabilities.defined() && result.request.wanted.probabilities)
      row["probabilities"] = unknown_cells(result, k);
    rows.push_back(std::move(row));
  }
  const CompletionWanted& wanted = result.request.wanted;
  Json json{{"draws", wanted.draws}};
  if (wanted.draws == 0) json["best"] = wanted.best == Best::row ? "row" : "cells";
  json["seed"] = result.request.options.seed;
  json["rows"] = std::move(rows);
  json["notes"] = result.notes;
  return with_condition(std::move(json), result.condition);
}

namespace {

// Predictions of a measured column.
Json of_numbers(const Predicted& result) {
  const PredictedItems& items = result.items;
  const Bins& bins = *result.space.bins(result.variable);
  Json rows = Json::array();
  for (int64_t k = 0; k < items.numbers.size(0); ++k) {
    Json row{{"row", items.rows[k]}};
    for (size_t which = 0; which < kNumberSummary.size(); ++which)
      row[kNumberSummary[which]] =
          cell_of(result.space, result.variable,
                  predicted_text(bins, number_at(items.numbers[k], static_cast<int64_t>(which))));
    const double truth = number_at(items.true_numbers, k);
    row["truth"] = std::isnan(truth) ? Json() : cell_of(result.space, result.variable, bins.text_of(truth));
    rows.push_back(std::move(row));
  }
  Json quality;
  if (const auto& found = result.quality.numbers)
    quality = {{"rows", result.quality.n_truth},
               {"absolute_error", of(found->absolute_error)},
               {"root_mean_square_error", found->squared_error},
               {"covered", of(found->covered)}};
  return {{"column", result.space.variable_name(result.variable)},
          {"rows", rows},
          {"quality", quality},
          {"notes", result.notes}};
}

}  // namespace

namespace {

Json of_labels(const Predicted& result) {
  const Space& space = result.space;
  const PredictedItems& items = result.items;
  const auto& [file_rows, probabilities, best, truth] =
      std::tie(items.rows, items.probabilities, items.best, items.truth);
  Json rows = Json::array();
  for (int64_t k = 0; k < best.numel(); ++k) {
    const auto label = best[k].item<int64_t>();
    const auto true_label = truth[k].item<int64_t>();
    rows.push_back({{"row", file_rows[k]},
                    {"label", space.label_name(result.variable, label)},
                    {"probability", number_at(probabilities[k], label)},
                    {"truth", true_label < 0 ? Json() : Json(space.label_name(result.variable, true_label))},
                    {"probabilities", of_labels(space, result.variable, probabilities[k])}});
  }
  const PredictionQuality& found = result.quality;
  Json quality;
  if (found.n_truth > 0) {
    Json groups = Json::array();
    for (const auto& group : found.groups)
      groups.push_back({{"rows", group.count}, {"probability", group.probability}, {"right", of(group.right)}});
    quality = {{"rows", found.n_truth},
               {"accuracy", of(found.accuracy)},
               {"log_loss", of(found.log_loss)},
               {"calibration_error", found.calibration_error},
               {"groups", groups}};
  }
  return {
      {"column", space.variable_name(result.variable)}, {"rows", rows}, {"quality", quality}, {"notes", result.notes}};
}

}  // namespace

Json to_json(const Predicted& result) {
  return with_condition(result.items.numbers.defined() ? of_numbers(result) : of_labels(result), result.condition);
}

Json to_json(const ScoredData& result) {
  const ItemScores all = result.all();
  const auto error = total_error(all);
  Json items = Json::array();
  for (int64_t k = 0; k < all.log_p.numel(); ++k) {
    Json item{{"item", item_number(result.file_rows, k)},
              {"log_p", number_at(all.log_p, k)},
              {"std_error", number_at(error, k)}};
    if (all.cells.defined()) item["nats"] = of_columns(result.space, -all.cells[k] + 0.0);
    items.push_back(std::move(item));
  }
  Json json = how_scored(result.scores);
  json["mean"] = of(result.summary);
  json["items"] = std::move(items);
  json["notes"] = result.notes;
  return with_condition(std::move(json), result.condition);
}

Json to_json(const ScoredSpace& result) {
  const auto error = total_error(result.scores.items);
  const Json rows = rows_of(result.space, result.labels);
  Json labelings = Json::array();
  for (int64_t k = 0; k < result.labels.size(0); ++k) {
    Json labeling{
        {"row", rows[k]}, {"log_p", number_at(result.scores.items.log_p, k)}, {"std_error", number_at(error, k)}};
    if (result.frequencies.defined())
      labeling["frequency"] = of(Measured{number_at(result.frequencies[k], 0), number_at(result.frequencies[k], 1)});
    labelings.push_back(std::move(labeling));
  }
  Json json = how_scored(result.scores);
  json["sum"] = of(result.sum);
  json["samples"] = result.n_samples;
  json["labelings"] = std::move(labelings);
  json["notes"] = result.notes;
  return json;
}

Json to_json(const RankedRows& result) {
  const OddRows& rows = result.rows;
  const auto order = oddest_first(rows);
  Json ranked = Json::array();
  for (int64_t k = 0; k < order.numel(); ++k) ranked.push_back(odd_row(rows, k + 1, order[k].item<int64_t>()));
  Json remarks = Json::array();
  for (const std::string& text : {outside_text(rows), unseen_pairs_text(rows)})
    if (!text.empty()) remarks.push_back(text);
  return {{"account", result.account},
          {"paired_rows", rows.n_paired},
          {"rows", ranked},
          {"remarks", remarks},
          {"notes", result.notes}};
}

Json to_json(const RunEvaluation& result) {
  Json metrics = Json::array();
  for (const Metric& metric : result.found.metrics) metrics.push_back(of(metric));
  Json json{{"setting", result.setting}, {"evaluations", result.n_evaluations}, {"metrics", metrics}};
  if (result.table) add(json, result.table->found);
  json["notes"] = result.notes;
  return json;
}

Json to_json(const OutsideReport& result) {
  Json scores = Json::array();
  for (const Separation& score : result.results) scores.push_back(of(score));
  return {{"bound", result.bound}, {"recommended", result.how_recommended}, {"verdict", verdict(result.results)},
          {"scores", scores},      {"inside", of(result.inside)},           {"outside", of(result.outside)},
          {"notes", result.notes}};
}

std::string text_of(const Json& json) {
  const auto line = [](const Json& value) {  // names of files need not be UTF-8
    return value.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
  };
  std::string text = "{";
  for (auto member = json.begin(); member != json.end(); ++member) {
    text += concat(member == json.begin() ? "\n  " : ",\n  ", line(member.key()), ": ");
    const bool has_rows = member->is_array() && !member->empty() && !member->front().is_number();
    if (!has_rows) text += line(*member);
    for (auto row = member->begin(); has_rows && row != member->end(); ++row)
      text += (row == member->begin() ? "[\n    " : ",\n    ") + line(*row);
    if (has_rows) text += "\n  ]";
  }
  return text + "\n}\n";
}

}  // namespace segre
