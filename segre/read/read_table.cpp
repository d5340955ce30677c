#include "segre/read/read_table.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "segre/core/error.h"
#include "segre/core/log.h"
#include "segre/core/text.h"
#include "segre/data/label_store.h"
#include "segre/read/column_bins.h"
#include "segre/read/csv_rows.h"
#include "segre/read/readers.h"

namespace segre {
namespace {

constexpr int64_t kRowsAtOnce = 1 << 20;              // after which what is in temporary files leaves memory
constexpr int64_t kFewestInFile = int64_t{16} << 20;  // bytes of a column's values that are worth a file

struct Column {
  TableColumn at;
  LabelDictionary dictionary;
  FoundByCode numbers;      // in the dictionary
  std::string declared_by;  // the option that declares its labels; empty: they are those found
  std::map<std::string, int64_t, std::less<>> missing;  // how missing values are written, and how often
  bool is_full = false;           // more different values than labels are possible: no more are added
  int64_t n_values = 0;           // rows with a value, until the dictionary is full
  int64_t n_bins = 0;             // the number requested; 0: the values are labels
  ValueScale scale;               // of a column with bins
  GrowingArray<double> measured;  // and its values, one per row; NaN: missing
};

std::vector<Column> make_columns(const TableRows& rows, const BinsOption& option) {
  // Values take eight bytes where labels take one: many columns of them share the memory. Each file is an open one.
  const auto n = static_cast<int64_t>(rows.columns().size());
  const int64_t most_measured = std::max(kFewestInFile, GrowingBuffer::kMostInMemory / n);
  const DeclaredLabels& declared = rows.declared();
  std::vector<Column> columns;
  std::vector<std::string> names;
  for (const TableColumn& at : rows.columns()) {
    const auto bins = option.counts.find(at.name);
    auto labels = declared.of(at.name);
    Column column;
    column.at = at;
    column.measured = GrowingArray<double>(most_measured);
    if (bins != option.counts.end()) {
      column.n_bins = bins->second;
      if (declared.has_own(at.name))
        fail_input(rows.file(), ": column ", printable(at.name), " has labels (", declared.option_for(at.name),
                   ") and bins (bins=); give only one of them");
    } else if (labels) {
      column.dictionary = std::move(*labels);
      column.declared_by = declared.option_for(at.name);
    }
    columns.push_back(std::move(column));
    names.push_back(at.name);
  }
  for (const auto& [name, count] : option.counts)
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail_input(rows.file(), ": has no column '", name, "' to bin (bins=); the nearest is ",
                 printable(nearest(name, names)));
  return columns;
}

// Refuses a first line that could also be an item, so that no item is lost unless the user declares it a header.
void check_header(const SourceName& name, const std::string& place, const std::vector<Column>& columns) {
  for (const char* option : {"header", "columns", "without", "dictionary"})
    if (name.has(option)) return;  // the user knows the names
  const auto could_be_item = [](const Column& c) {
    return c.n_bins > 0 ? ValueScale(c.scale).add(c.at.name).has_value() : c.dictionary.has(c.at.name);
  };
  if (std::all_of(columns.begin(), columns.end(), could_be_item))
    fail_input(place, ": every column is named after one of its own labels, such as '",
               printable(columns.front().at.name),
               "'; read the file with header=0 if this line is data, with header=1 if it names the columns");
}

class TableReader {
 public:
  TableReader(const SourceName& name, TableRows& rows, OptionStyle style)
      : name_(name),
        rows_(rows),
        style_(style),
        bins_(BinsOption::read(name)),
        max_labels_(name.integer("max_labels", 0, {1, kMaxLabels})),
        columns_(make_columns(rows, bins_)) {}

  Dataset read() {
    for (const int64_t limit = name_.limit(); lines_.size() < limit && rows_.next();) {
      for (Column& column : columns_) store_.add(number_of(column));
      lines_.add(rows_.line());
    }
    if (lines_.size() == 0) fail_input(rows_.file(), ": has a header but no rows");
    const auto refused = judge_columns();
    if (rows_.has_header()) check_header(name_, rows_.header_place(), columns_);
    if (!refused.empty()) refuse_columns(rows_.file(), name_, style_, refused, most_values());
    const Space space = Space::table(number_anew());
    const Unknowns unknowns = leaves_unknown() ? Unknowns::allow : Unknowns::refuse;
    return {space, store_.take(space, unknowns), false, rows_.origin(std::move(lines_)), unknowns};
  }

 private:
  bool leaves_unknown() const { return rows_.missing() == TableRows::Missing::unknown; }

  // What the store keeps for a value: its number in the column's dictionary, 0 in a column with bins.
  int32_t number_of(Column& column) {
    const std::string_view text = rows_.value(column.at);
    const bool is_missing = text == kMissingName;
    if (is_missing && leaves_unknown()) {
      if (column.n_bins > 0) column.measured.push_back(NAN);
      return kUnknown;
    }
    if (is_missing) count_missing(column);
    if (column.n_bins > 0) return measure(column, text, is_missing);
    if (column.is_full) return 0;
    const int32_t code = rows_.code(column.at.field);
    int32_t number = column.numbers.find(code);
    if (number == FoundByCode::kNothing) {
      if (!is_missing && !column.declared_by.empty() && !column.dictionary.has(text))
        refuse_undeclared(rows_.place(), column.at.name, text, column.declared_by, column.dictionary);
      if (column.dictionary.size() == kMaxLabels && !column.dictionary.has(text)) return take_no_more(column, text);
      number = column.dictionary.number(text);
      column.numbers.keep(code, number);
    }
    column.n_values += is_missing ? 0 : 1;
    return number;
  }

  void count_missing(Column& column) {
    const std::string_view text = rows_.field(column.at.field);
    const auto at = column.missing.find(text);
    ++(at != column.missing.end() ? at->second : column.missing[std::string(text)]);
  }

  int32_t measure(Column& column, std::string_view text, bool is_missing) {
    const auto value = is_missing ? std::optional<double>(NAN) : column.scale.add(text);
    if (value) {
      column.measured.push_back(*value);
      return 0;
    }
    if (bins_.counts.contains(column.at.name))
      fail_input(rows_.place(), ": column ", printable(column.at.name), " is '", printable(text), "', a ",
                 column.scale.is_date() ? "date" : "number", column.measured.empty() ? " or a date" : "",
                 " was expected (bins=)");
    // bins=auto took the column for numbers or dates until here; now it will be refused.
    column.n_bins = 0;
    column.is_full = true;
    column.measured.clear();
    column.dictionary.number(text);
    return 0;
  }

  // One value too many to be labels: from here on the column holds numbers or dates if bins=auto allows that, or else
  // is refused in the end.
  int32_t take_no_more(Column& column, std::string_view text) {
    if (!column.declared_by.empty())  // all other values are declared
      fail_input(rows_.place(), ": column ", printable(column.at.name), " has a missing value besides the ", kMaxLabels,
                 " labels declared (", column.declared_by, "), the most that a column may have");
    column.is_full = true;
    const auto looks = judge(column).looks;
    if (!bins_.is_auto || looks == Looks::identifier) return 0;
    start_measuring(column);
    return measure(column, text, text == kMissingName);
  }

  RefusedColumn judge(const Column& column) const {
    return judge_column(column.at.name,
                        {.dictionary = column.dictionary,
                         .has_missing = !column.missing.empty(),
                         .is_full = column.is_full,
                         .n_values = column.n_values,
                         .n_rows = lines_.size()},
                        max_labels_);
  }

  // Turns the labels stored so far into values: all are numbers, or all dates.
  void start_measuring(Column& column) {
    std::vector<double> values;
    for (const std::string& text : column.dictionary.names())
      values.push_back(text == kMissingName ? NAN : *column.scale.add(text));
    const int64_t n = static_cast<int64_t>(columns_.size());
    const int64_t i = &column - columns_.data();
    for (int64_t row = 0; row < lines_.size(); ++row) {
      const int32_t label = store_.at(row * n + i);
      column.measured.push_back(label == kUnknown ? NAN : values[label]);
      if (row % kRowsAtOnce == 0) store_.release();
    }
    column.n_bins = BinsOption::kAutoBins;
    column.is_full = false;
  }

  // Puts numbers and dates into bins if bins=auto. Returns the remaining columns that do not look like labels.
  std::vector<RefusedColumn> judge_columns() {
    std::vector<RefusedColumn> refused;
    for (Column& column : columns_) {
      if (column.n_bins > 0 || !column.declared_by.empty()) continue;  // as the user requested
      const RefusedColumn judged = judge(column);
      if (judged.looks != Looks::labels && judged.looks != Looks::identifier && bins_.is_auto) {
        start_measuring(column);
      } else if (judged.looks != Looks::labels) {
        refused.push_back(judged);
      }
    }
    return refused;
  }

  // How many labels the largest column would have if all values were labels; 0: more than allowed.
  int64_t most_values() const {
    int64_t most = 0;
    for (const Column& column : columns_) {
      if (column.n_bins > 0 || !column.declared_by.empty()) continue;
      if (column.is_full) return 0;
      most = std::max(most, column.dictionary.size() - (column.missing.empty() ? 0 : 1));
    }
    return most;
  }

  // Returns the variables and renumbers the store to their labels.
  std::vector<Variable> number_anew() {
    std::vector<Variable> variables;
    std::vector<std::vector<int32_t>> place;
    for (const Column& column : columns_) {
      if (column.n_bins > 0) {
        variables.push_back(binned(column));
        place.emplace_back(std::max<int64_t>(1, column.dictionary.size()), 0);
        continue;
      }
      if (column.dictionary.size() == 0)
        fail_input(rows_.file(), ": column ", printable(column.at.name),
                   " has only missing values, so its labels are unknown; leave it out (without=)");
      auto sorted = column.dictionary.sorted(kMissingName);
      variables.push_back(
          {column.at.name, column.dictionary.size(), std::move(sorted.names), {}, missing_text(column)});
      place.push_back(std::move(sorted.place));
    }
    store_.relabel(place);
    for (size_t i = 0; i < columns_.size(); ++i)
      if (columns_[i].n_bins > 0) store_bins(static_cast<int64_t>(i), *variables[i].bins);
    return variables;
  }

  // The text that most missing values of the column have; unset if none is missing.
  static std::optional<std::string> missing_text(const Column& column) {
    const auto often = std::max_element(column.missing.begin(), column.missing.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
    return often == column.missing.end() ? std::nullopt : std::optional(often->first);
  }

  Variable binned(const Column& column) const {
    GrowingArray<double> values;
    for (const double value : column.measured)
      if (!std::isnan(value)) values.push_back(value);
    if (values.empty())
      fail_input(rows_.file(), ": column ", printable(column.at.name),
                 " has only missing values, nothing to bin (bins=)");
    Variable variable{
        column.at.name, 0, {}, quantile_bins(column.scale, {values.begin(), values.end()}, column.n_bins)};
    for (int64_t bin = 0; bin < variable.bins->size(); ++bin) variable.label_names.push_back(variable.bins->name(bin));
    if (!column.missing.empty()) variable.label_names.emplace_back(kMissingName);
    variable.missing_text = missing_text(column);
    variable.n_labels = static_cast<int64_t>(variable.label_names.size());
    return variable;
  }

  void store_bins(int64_t i, const Bins& bins) {
    const auto n = static_cast<int64_t>(columns_.size());
    int64_t row = 0;
    for (const double value : columns_[i].measured) {
      if (row % kRowsAtOnce == 0) store_.release();
      store_.set(n * row++ + i, static_cast<int32_t>(!std::isnan(value) ? bins.find(value)
                                                     : leaves_unknown() ? kUnknown
                                                                        : bins.size()));
    }
  }

  const SourceName& name_;
  TableRows& rows_;
  OptionStyle style_;
  BinsOption bins_;
  int64_t max_labels_;
  std::vector<Column> columns_;
  LabelStore store_;
  ItemNumbers lines_;
};

}  // namespace

TextEncoding encoding_of(const SourceName& name) {
  return name.choice("encoding", "utf8", {"utf8", "latin1"}) == "latin1" ? TextEncoding::latin1 : TextEncoding::utf8;
}

void note_encoding(const SourceName& name) {
  if (encoding_of(name) == TextEncoding::latin1) note(name.target(), ": is Latin-1, its text is written in UTF-8");
}

Dataset read_table(const SourceName& name, TableRows& rows, OptionStyle style) {
  if (name.has("unseen"))
    fail_input("data source ", name.text(),
               ": unseen= is for labels that a model never saw, but the table is not read for a model");
  return TableReader(name, rows, style).read();
}

Dataset read_csv_table(const SourceName& name) {
  CsvRows rows(name);
  return read_table(name, rows, OptionStyle::source_name);
}

}  // namespace segre
