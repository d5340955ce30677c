#include "segre/tasks/rows.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

#include "segre/core/error.h"
#include "segre/core/utf8.h"
#include "segre/data/label_dictionary.h"
#include "segre/data/label_finder.h"
#include "segre/read/frame.h"

namespace segre {
namespace {

// The text of a value; nothing for null.
std::optional<std::string> value_text(const Json& value, const std::string& place) {
  if (value.is_null()) return std::nullopt;
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_boolean()) return value.dump();
  fail_input(place, " holds ", value.type_name(), ", a text, a number, true, false or null was expected");
}

// The ways in which a value's text may be written in other programs' files: 2 and 2.0, true and True.
std::vector<std::string> ways_to_write(const std::string& text) {
  std::vector<std::string> ways{text, text + ".0"};
  if (text.ends_with(".0")) ways.push_back(text.substr(0, text.size() - 2));
  if (text == "true") ways.emplace_back("True");
  if (text == "false") ways.emplace_back("False");
  return ways;
}

// A column of a frame that is being filled.
class ColumnBuilder {
 public:
  ColumnBuilder(const Space& space, std::string name, int64_t n_rows)
      : name_(std::move(name)), codes_(n_rows, kMissingCode) {
    for (const Column& column : space.columns())
      if (column.name == name_)
        for (const auto& label : label_names(space, column.first)) labels_.insert(label);
  }

  void set(int64_t row, const Json& value, const std::string& place) {
    const auto text = value_text(value, place);
    if (!text) return;
    std::string chosen = *text;
    if (!value.is_string())
      for (const std::string& way : ways_to_write(*text))
        if (labels_.contains(way)) {
          chosen = way;
          break;
        }
    const auto [at, is_new] = numbers_.try_emplace(chosen, static_cast<int32_t>(texts_.size()));
    if (is_new) texts_.push_back(chosen);
    codes_[row] = at->second;
  }
  FrameColumn take() && { return {name_, std::move(texts_), torch::tensor(codes_, torch::kInt32)}; }

 private:
  static constexpr int32_t kMissingCode = -1;
  std::string name_;
  std::unordered_set<std::string> labels_;  // of the model; empty if it does not have the column
  std::vector<std::string> texts_;
  std::unordered_map<std::string, int32_t> numbers_;
  std::vector<int32_t> codes_;
};

Frame frame_of(const Space& space, const Json& rows, const std::string& what, Holes holes) {
  const auto n_rows = static_cast<int64_t>(rows.size());
  std::vector<ColumnBuilder> columns;
  std::unordered_map<std::string, size_t> places;
  const auto column = [&](const std::string& name) -> ColumnBuilder& {
    const auto [at, is_new] = places.try_emplace(name, columns.size());
    if (is_new) columns.emplace_back(space, name, n_rows);
    return columns[at->second];
  };
  if (holes == Holes::unknown)
    for (const Column& known : space.columns()) column(known.name);
  for (int64_t k = 0; k < n_rows; ++k) {
    const std::string place = concat(what, ": row ", k);
    if (!rows[k].is_object()) fail_input(place, " is ", rows[k].type_name(), ", an object was expected: {NAME: VALUE}");
    for (const auto& [name, value] : rows[k].items())
      column(name).set(k, value, concat(place, ": column ", printable(name)));
  }
  Frame frame{.columns = {}, .n_rows = n_rows, .called = what};
  for (ColumnBuilder& built : columns) frame.columns.push_back(std::move(built).take());
  return frame;
}

// The user's texts of the cells of a table, row by row; {} if no column has bins, whose labels say less.
std::vector<std::vector<std::string>> texts_of(const Space& space, const Json& rows) {
  bool has_bins = false;
  for (int64_t i = 0; i < space.n_variables(); ++i) has_bins = has_bins || space.bins(i) != nullptr;
  std::vector<std::vector<std::string>> texts;
  for (size_t k = 0; has_bins && k < rows.size(); ++k) {
    texts.emplace_back();
    for (const Column& column : space.columns()) {
      const auto at = rows[k].find(column.name);
      const std::string text = at == rows[k].end() ? "" : value_text(*at, "").value_or("");
      texts.back().insert(texts.back().end(), column.n_variables, text);
    }
  }
  return texts;
}

// The label that a cell of a sequence or image holds.
int64_t label_in(const Space& space, const LabelFinder& finder, const Json& cell, const std::string& place) {
  if (cell.is_null()) return kUnknown;
  const int64_t label = cell.is_number_integer() ? cell.get<int64_t>()
                        : cell.is_string()       ? finder.find(cell.get<std::string>())
                                                 : -1;
  if (label < 0 || label >= space.max_labels())
    fail_input(place, " holds ", cell.dump(), "; a label, 0 to ", space.max_labels() - 1, ", its name or null was",
               " expected");
  return label;
}

// Adds the cells of nested arrays in the shape of an item.
void add_cells(const Space& space, const LabelFinder& finder, const Json& cells, size_t axis, const std::string& place,
               std::vector<int64_t>& labels) {
  const auto& shape = space.item_shape();
  if (axis == shape.size()) return labels.push_back(label_in(space, finder, cells, place));
  if (!cells.is_array() || static_cast<int64_t>(cells.size()) != shape[axis])
    fail_input(place, " is ", cells.is_array() ? concat("an array of ", cells.size()) : cells.type_name(),
               ", an array of ", shape[axis], " was expected; an item has the shape ", at::IntArrayRef(shape));
  for (const Json& cell : cells) add_cells(space, finder, cell, axis + 1, place, labels);
}

torch::Tensor labels_of_arrays(const Space& space, const Json& rows, const std::string& what) {
  std::vector<int64_t> labels;
  const LabelFinder finder(space, 0);  // all variables have the same labels
  for (size_t k = 0; k < rows.size(); ++k) add_cells(space, finder, rows[k], 0, concat(what, ": row ", k), labels);
  return torch::tensor(labels, torch::kInt64).view({static_cast<int64_t>(rows.size()), space.n_variables()});
}

// Whether the cells of a column of numbers or dates are values, not the names of bins.
bool is_value(const Space& space, const Column& column, const std::optional<BinValues>& values) {
  return space.bins(column.first)->are_levels || (values && !values->names_of_bins);
}

// Labels [n] at `label` as nested arrays, consumed from the front.
Json nested(const std::vector<int64_t>& shape, size_t axis, const int64_t*& label) {
  if (axis == shape.size()) {
    const int64_t value = *label++;
    return value < 0 ? Json() : Json(value);
  }
  Json cells = Json::array();
  for (int64_t k = 0; k < shape[axis]; ++k) cells.push_back(nested(shape, axis + 1, label));
  return cells;
}

Json table_rows(const Space& space, const torch::Tensor& labels, const std::optional<BinValues>& values) {
  const auto all = labels.contiguous();
  const auto columns = space.columns();
  const GivenValues* given = values ? values->given.get() : nullptr;
  Json rows = Json::array();
  for (int64_t k = 0; k < all.size(0); ++k) {
    const auto* row_labels = all[k].const_data_ptr<int64_t>();
    Json row = Json::object();
    for (const Column& column : columns) {
      const int64_t i = column.first;
      Json& cell = row[column.name];
      if (row_labels[i] < 0 || space.label_name(i, row_labels[i]) == kMissingName) continue;  // null
      const bool is_named = space.bins(i) == nullptr || !is_value(space, column, values);
      const auto within = values ? std::optional(values->within(space, k, i)) : std::nullopt;
      cell = is_named ? Json(space.label_name(i, row_labels[i]))
                      : cell_of(space, i, cell_text(space, column, row_labels + i, within, given));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

ItemBatch items_of(const Space& space, const Json& rows, const std::string& what, Holes holes) {
  if (!rows.is_array() || rows.empty())
    fail_input(what, ": ", rows.is_array() ? "an empty array" : rows.type_name(), ", an array of rows was expected");
  ItemBatch items;
  if (space.is(PartKind::columns)) {
    const auto unknowns = holes == Holes::unknown ? Unknowns::allow : Unknowns::refuse;
    const Frame frame = frame_of(space, rows, what, holes);
    items.labels = read_frame_for(frame, parse_source_name("csv:"), space, what, unknowns).labels.to(torch::kInt64);
    items.texts = texts_of(space, rows);
  } else {
    items.labels = labels_of_arrays(space, rows, what);
    if (holes == Holes::as_trained) check_labels(space, items.labels);
  }
  for (int64_t k = 0; k < items.labels.size(0); ++k) items.rows.push_back(k + 1);
  return items;
}

Json rows_of(const Space& space, const torch::Tensor& any_labels, const std::optional<BinValues>& values) {
  const auto labels = any_labels.to(torch::kCPU, torch::kInt64);
  check_labels(space, labels, Unknowns::allow);
  if (space.is(PartKind::columns)) return table_rows(space, labels, values);
  const auto all = labels.contiguous();
  const auto* label = all.const_data_ptr<int64_t>();
  Json rows = Json::array();
  for (int64_t k = 0; k < all.size(0); ++k) rows.push_back(nested(space.item_shape(), 0, label));
  return rows;
}

Json cell_of(const Space& space, int64_t variable, const std::string& text) {
  const Bins* bins = space.bins(variable);
  const auto number = bins != nullptr && bins->unit == Bins::Unit::number ? parse_number(text) : std::nullopt;
  if (!number) return text;
  return text.find_first_of(".e") == std::string::npos && std::abs(*number) < 1e15 ? Json(static_cast<int64_t>(*number))
                                                                                   : Json(*number);
}

}  // namespace segre
