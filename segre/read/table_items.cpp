#include "segre/read/table_items.h"

#include <algorithm>
#include <unordered_map>

#include "segre/core/error.h"
#include "segre/core/log.h"
#include "segre/core/text.h"
#include "segre/core/utf8.h"
#include "segre/data/label_dictionary.h"
#include "segre/data/label_store.h"
#include "segre/read/column_bins.h"
#include "segre/read/csv_rows.h"
#include "segre/read/readers.h"

namespace segre {
namespace {

constexpr int64_t kOutsideNamed = 3;  // values outside the bins that a note lists
constexpr int64_t kLacking = -1;      // the field of a column that the table does not have

std::vector<std::string> names_of(const std::vector<TableColumn>& columns) {
  std::vector<std::string> names;
  for (const TableColumn& column : columns) names.push_back(column.name);
  return names;
}

std::vector<std::string> names_of(const Space& space) {
  std::vector<std::string> names;
  for (const Column& column : space.columns()) names.push_back(column.name);
  return names;
}

// The columns of the space among those that the options select, in any order.
std::vector<TableColumn> match_columns(const Space& space, const TableRows& rows, const std::string& what,
                                       const std::string& may_lack) {
  std::unordered_map<std::string, TableColumn> there;
  for (const TableColumn& column : rows.columns()) there.emplace(column.name, column);
  const auto wanted = names_of(space);
  std::vector<TableColumn> columns;
  std::vector<std::string> lacking;
  for (const std::string& name : wanted) {
    const auto at = there.find(name);
    if (at == there.end()) {
      if (name != may_lack) lacking.push_back(name);
      columns.push_back({name, kLacking});
      continue;
    }
    columns.push_back(at->second);
    there.erase(at);
  }
  if (!lacking.empty())
    fail_input(what, ": has no column ", list_labels(lacking), "; it has ", list_labels(names_of(rows.columns())),
               ", and ", list_labels(wanted), " were expected",
               lacking.size() == wanted.size() && rows.has_header()
                   ? " (if the file has no header, read it with header=0)"
                   : "");
  std::vector<std::string> others;
  for (const TableColumn& column : rows.columns())
    if (there.contains(column.name)) others.push_back(column.name);
  note_ignored(rows.file(), others);
  return columns;
}

}  // namespace

TableItems::Unseen TableItems::unseen_of(const SourceName& name) {
  const std::string given = name.choice("unseen", "refuse", {"refuse", "skip", "missing"});
  return given == "skip" ? Unseen::skip : given == "missing" ? Unseen::missing : Unseen::refuse;
}

TableItems::TableItems(const SourceName& name, TableRows& rows, const Space& space, const std::string& what,
                       Unknowns unknowns, const std::string& may_lack)
    : space_(space),
      unseen_(unseen_of(name)),
      rows_(rows),
      unknowns_(rows.missing() == TableRows::Missing::unknown ? Unknowns::allow : unknowns) {
  auto there = match_columns(space, rows, what, may_lack);
  for (const segre::Column& of : space.columns()) {
    TableColumn& at = there[columns_.size()];
    // labels= applies to all columns, except those of numbers and dates.
    auto declared = space.bins(of.first) == nullptr ? rows.declared().of(at.name) : std::nullopt;
    fields_.insert(fields_.end(), of.n_variables, at.field);
    columns_.push_back({std::move(at), of, {space, of.first}, std::move(declared)});
  }
}

bool TableItems::next(std::vector<int32_t>& labels) {
  labels.resize(space_.n_variables());
  while (rows_.next())
    if (read_row(labels)) {
      keep_outside();
      ++n_kept_;
      return true;
    }
  return false;
}

// Whether the text is a number or date beyond the bins: the name of a bin is not.
bool TableItems::is_outside(int64_t variable, std::string_view text) const {
  const Bins* bins = space_.bins(variable);
  if (bins == nullptr || text == kMissingName) return false;
  const auto value = bins->parse(text);
  return value && !bins->covers(*value);
}

// Counts and keeps what was found outside in a row that stays.
void TableItems::keep_outside() {
  for (const Column* column : outside_in_row_) {
    const int64_t i = column->of.first;
    const std::string text(rows_.value(column->at));
    const Bins& bins = *space_.bins(i);
    const double value = *bins.parse(text);
    if (n_outside_ < kOutsideNamed)
      first_outside_.push_back(concat(rows_.place(), " ", printable(space_.variable_name(i)), " = ", printable(text),
                                      " (", bins.range(), ", ", bins.distance(value), ")"));
    if (++n_outside_ <= kMostOutside) outside_.push_back({n_kept_, i, text, bins.beyond(value)});
  }
}

// Sets the labels of a column from the number of its place among the labels of its first variable, each as often as the
// second variable has labels.
void TableItems::set(const Column& column, int64_t found, std::vector<int32_t>& labels) const {
  const int64_t first = column.of.first;
  const int64_t inner = column.of.n_variables == 2 ? space_.n_labels(first + 1) : 1;
  labels[first] = static_cast<int32_t>(found / inner);
  if (inner > 1) labels[first + 1] = static_cast<int32_t>(found % inner);
}

// The text of the row in a column; kMissingName if it is missing. A label of the model is none, whatever it is called;
// other texts such as ? are, where training would have seen that they are.
std::string_view TableItems::text_in(const Column& column) const {
  const std::string_view text = rows_.field(column.at.field);
  const bool is_label = text != kMissingName && column.labels.has_name(text);
  const bool is_mark = text == "?" || (space_.bins(column.of.first) != nullptr && is_missing_mark(text));
  return !is_label && (is_mark || is_missing(text)) ? rows_.missing_value(column.at) : text;
}

// Whether to keep the row.
bool TableItems::read_row(std::vector<int32_t>& labels) {
  outside_in_row_.clear();
  std::fill(labels.begin(), labels.end(), static_cast<int32_t>(kUnknown));
  for (Column& column : columns_) {
    if (column.at.field == kLacking) continue;
    const int32_t code = rows_.code(column.at.field);
    if (const int32_t found = column.found.find(code); found != FoundByCode::kNothing) {
      set(column, found, labels);
      continue;
    }
    const std::string_view text = text_in(column);
    if (unknowns_ == Unknowns::allow && text == kMissingName) continue;
    if (column.declared && text != kMissingName && !column.declared->has(text))
      refuse_undeclared(rows_.place(), column.at.name, text, rows_.declared().option_for(column.at.name),
                        *column.declared);
    Bins::Place place = column.labels.place(text);
    if (place.label < 0 && unseen_ == Unseen::missing) {  // a hole like any other
      if (unknowns_ == Unknowns::allow) continue;
      place = column.labels.place(kMissingName);
    }
    if (place.label < 0 && unseen_ == Unseen::skip) {
      if (n_skipped_++ == 0) first_skipped_ = rows_.place();
      return false;
    }
    if (place.label < 0) refuse(column.of.first, text);
    const int64_t inner = column.of.n_variables == 2 ? space_.n_labels(column.of.first + 1) : 1;
    const int64_t found = place.label * inner + place.within;
    set(column, found, labels);
    if (is_outside(column.of.first, text)) {
      outside_in_row_.push_back(&column);
    } else {
      column.found.keep(code, static_cast<int32_t>(found));
    }
  }
  return true;
}

void TableItems::refuse(int64_t variable, std::string_view text) const {
  if (text == kMissingName)
    fail_input(rows_.place(), ": ", unknown_label(space_, variable, text), "; missing=unknown leaves such cells out");
  const char* const why = unseen_ == Unseen::missing ? "; unseen=missing needs a column with missing values in "
                                                       "training, unseen=skip leaves such rows out"
                                                     : "; unseen=skip leaves such rows out";
  fail_input(rows_.place(), ": ", unknown_label(space_, variable, text), why);
}

void TableItems::finish() const {
  const int64_t n_rows = n_skipped_ + n_kept_;
  if (n_rows == 0) fail_input(rows_.file(), ": has a header but no rows");
  if (n_kept_ == 0)
    fail_input(rows_.file(), ": all ", n_rows,
               " rows have labels that training never saw, so none are left (unseen=skip)");
  if (n_skipped_ > 0)
    note(rows_.file(), ": ", n_skipped_, " of ", n_rows,
         " rows have labels that training never saw and are left out (unseen=skip), the first at ", first_skipped_);
  if (n_outside_ > 0)
    note(rows_.file(), ": ", n_outside_, n_outside_ == 1 ? " value lies" : " values lie",
         " outside the range of training and ", n_outside_ == 1 ? "counts" : "count",
         " as the nearest interval: ", join(first_outside_, ", "), n_outside_ > kOutsideNamed ? ", ..." : "");
}

void note_ignored(const std::string& file, const std::vector<std::string>& columns) {
  if (columns.empty()) return;
  note(file, ": ignoring ", columns.size() == 1 ? "column " : "columns ", list_labels(columns),
       columns.size() == 1 ? ", which is not in the model" : ", which are not in the model");
}

Dataset read_table_for(const SourceName& name, TableRows& rows, const Space& space, const std::string& what,
                       int64_t most, Unknowns unknowns) {
  // The model's labels are fixed, so bins= and max_labels= have no effect, but they must still be valid.
  BinsOption::read(name);
  name.integer("max_labels", 0, {1, kMaxLabels});
  TableItems items(name, rows, space, what, unknowns);
  const int64_t limit = most > 0 ? std::min(most, name.limit()) : name.limit();
  LabelStore store;
  ItemNumbers lines, file_rows;
  for (std::vector<int32_t> labels; lines.size() < limit && items.next(labels);) {
    for (const int32_t label : labels) store.add(label);
    lines.add(rows.line());
    file_rows.add(items.row() - 1);
  }
  items.finish();
  return {space,
          store.take(space, items.unknowns()),
          /*mirror=*/false,
          rows.origin(std::move(lines)),
          items.unknowns(),
          items.take_outside(),
          std::move(file_rows)};
}

Dataset read_csv_table_for(const SourceName& name, const Space& space, const std::string& what, int64_t most,
                           Unknowns unknowns) {
  CsvRows rows(name);
  return read_table_for(name, rows, space, what, most, unknowns);
}

}  // namespace segre
