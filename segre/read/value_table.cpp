#include "segre/read/value_table.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "segre/core/error.h"
#include "segre/core/text.h"
#include "segre/read/csv_rows.h"

namespace segre {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Where the columns are in a table's rows.
std::vector<TableColumn> find_columns(const std::vector<ValueColumn>& columns, const TableRows& rows,
                                      const std::string& what) {
  std::vector<TableColumn> found;
  for (const ValueColumn& column : columns) {
    const auto at = std::find_if(rows.columns().begin(), rows.columns().end(),
                                 [&](const TableColumn& c) { return c.name == column.name; });
    if (at == rows.columns().end())
      fail_input(what, ": has no column '", printable(column.name), "'; the nearest is ",
                 printable(nearest(column.name, rows.all_names())));
    found.push_back(*at);
  }
  return found;
}

}  // namespace

std::string ValueColumn::text_of(double value) const {
  if (std::isnan(value)) return kMissingName;
  if (!is_number()) return labels.names()[static_cast<size_t>(value)];
  return numbers->text_of(value);
}

ValueReader::ValueReader(const Space& space) {
  for (const Column& column : space.columns()) {
    const Bins* bins = space.bins(column.first);
    ValueColumn found{.name = column.name};
    if (bins != nullptr && (!bins->are_levels || bins->is_measured())) found.numbers = *bins;
    columns_.push_back(std::move(found));
    by_number_.emplace_back();
    if (columns_.back().is_number()) continue;
    for (int64_t label = 0; label < space.n_labels(column.first); ++label)
      label_of(columns_.size() - 1, space.label_name(column.first, label));
  }
}

double ValueReader::label_of(size_t column, std::string_view text) {
  LabelDictionary& labels = columns_[column].labels;
  if (labels.has(text)) return labels.number(text);
  const auto number = parse_number(text);
  if (!number) return labels.number(text);
  const auto [at, is_new] = by_number_[column].try_emplace(*number, static_cast<int32_t>(labels.size()));
  return is_new ? labels.number(text) : at->second;
}

double ValueReader::value_of(size_t column, std::string_view text, const TableRows& rows) {
  const ValueColumn& known = columns_[column];
  if (!known.is_number()) return label_of(column, text);
  if (text == kMissingName) return kNone;
  const auto number = known.numbers->parse(text);
  if (!number)
    fail_input(rows.place(), ": column ", printable(known.name), " is '", printable(std::string(text)), "', a ",
               known.numbers->unit == Bins::Unit::number ? "number" : "date", " was expected");
  return *number;
}

torch::Tensor ValueReader::read(TableRows& rows, const std::string& what) {
  const auto places = find_columns(columns_, rows, what);
  std::vector<double> values;
  while (rows.next())
    for (size_t c = 0; c < places.size(); ++c) values.push_back(value_of(c, rows.value(places[c]), rows));
  return torch::tensor(values, torch::kFloat64).view({-1, static_cast<int64_t>(places.size())});
}

torch::Tensor ValueReader::read_csv(const SourceName& name, const std::string& what) {
  CsvRows rows(name);
  return read(rows, what);
}

torch::Tensor ValueReader::read_labels(const Space& space, const torch::Tensor& labels, const BinValues& values) {
  const auto all = labels.to(torch::kCPU, torch::kInt64).contiguous();
  const auto columns = space.columns();
  const auto C = static_cast<int64_t>(columns.size());
  auto found = torch::empty({all.size(0), C}, torch::kFloat64);
  for (int64_t row = 0; row < all.size(0); ++row) {
    const auto* const label = all.const_data_ptr<int64_t>() + row * all.size(1);
    for (int64_t c = 0; c < C; ++c) {
      const int64_t first = columns[c].first;
      const std::string text = label[first] < 0
                                   ? std::string(kMissingName)
                                   : cell_text(space, columns[c], label + first, values.within(space, row, first));
      const ValueColumn& known = columns_[c];
      // A text that is no number is the label of missing values.
      found.data_ptr<double>()[row * C + c] =
          known.is_number() ? known.numbers->parse(text).value_or(kNone) : label_of(c, text);
    }
  }
  return found;
}

}  // namespace segre
