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
#include "segre/read/number_levels.h"
#include "segre/read/readers.h"

namespace segre {
namespace {

constexpr int64_t kRowsAtOnce = 1 << 20;              // after which what is in temporary files leaves memory
constexpr int64_t kFewestInFile = int64_t{16} << 20;  // bytes of a column's values that are worth a file
constexpr int64_t kFewestNumbers = 2;                 // different ones; so few are labels, such as flags

// What a column becomes.
enum class Becomes { labels, bins, levels, nothing };

struct ReadColumn {
  TableColumn at;
  Becomes becomes = Becomes::labels;
  NumbersOption::Kind numbers_as = NumbersOption::Kind::levels;
  LabelDictionary dictionary;
  FoundByCode numbers;               // in the dictionary
  std::vector<Bins::Place> place{};  // of the texts in the dictionary, once the column is judged
  std::optional<Bins> bins{};        // likewise, of numbers and dates
  std::string declared_by;           // the option that declares its labels; empty: they are those found
  std::map<std::string, int64_t, std::less<>> missing;  // how missing values are written, and how often
  bool is_full = false;           // more different values than labels are possible: no more are added
  int64_t n_values = 0;           // rows with a value, until the dictionary is full
  int64_t n_bins = 0;             // the number of bins requested; 0: none
  bool is_measured = false;       // the values are kept as numbers
  ValueScale scale;               // of numbers and dates
  GrowingArray<double> measured;  // values, one per row; NaN: missing
};

void require_column(const TableRows& rows, const std::vector<std::string>& names, const std::string& name,
                    const char* why) {
  if (std::find(names.begin(), names.end(), name) == names.end())
    fail_input(rows.file(), ": has no column '", name, "' ", why, "; the nearest is ", printable(nearest(name, names)));
}

std::vector<ReadColumn> make_columns(const TableRows& rows, const BinsOption& option, const NumbersOption& numbers) {
  // Values take eight bytes where labels take one: many columns of them share the memory. Each file is an open one.
  const auto n = static_cast<int64_t>(rows.columns().size());
  const int64_t most_measured = std::max(kFewestInFile, GrowingBuffer::kMostInMemory / n);
  const DeclaredLabels& declared = rows.declared();
  std::vector<ReadColumn> columns;
  std::vector<std::string> names;
  for (const TableColumn& at : rows.columns()) {
    const auto bins = option.counts.find(at.name);
    auto labels = declared.of(at.name);
    ReadColumn column;
    column.at = at;
    column.numbers_as = numbers.of(at.name);
    column.measured = GrowingArray<double>(most_measured);
    if (bins != option.counts.end()) {
      column.becomes = Becomes::bins;
      column.n_bins = bins->second;
      column.is_measured = true;
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
  for (const auto& [name, count] : option.counts) require_column(rows, names, name, "to bin (bins=)");
  for (const auto& [name, kind] : numbers.kinds) require_column(rows, names, name, "of numbers (numbers=)");
  return columns;
}

// Refuses a first line that could also be an item, so that no item is lost unless the user declares it a header.
void check_header(const SourceName& name, const std::string& place, const std::vector<ReadColumn>& columns) {
  for (const char* option : {"header", "columns", "without", "dictionary"})
    if (name.has(option)) return;  // the user knows the names
  const auto could_be_item = [](const ReadColumn& c) {
    return c.is_measured ? ValueScale(c.scale).add(c.at.name).has_value() : c.dictionary.has(c.at.name);
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
        columns_(make_columns(rows, bins_, NumbersOption::read(name))) {}

  Dataset read() {
    for (const int64_t limit = name_.limit(); lines_.size() < limit && rows_.next();) {
      for (ReadColumn& column : columns_) store_.add(number_of(column));
      lines_.add(rows_.line());
    }
    if (lines_.size() == 0) fail_input(rows_.file(), ": has a header but no rows");
    decide();
    if (rows_.has_header()) check_header(name_, rows_.header_place(), columns_);
    const Space space = Space::table(make_variables());
    tell();
    const Unknowns unknowns = leaves_unknown() ? Unknowns::allow : Unknowns::refuse;
    return {space, store_.take(space, unknowns), false, rows_.origin(std::move(lines_)), unknowns};
  }

 private:
  bool leaves_unknown() const { return rows_.missing() == TableRows::Missing::unknown; }

  // What the store keeps for a value: its number in the column's dictionary, 0 in a column with bins.
  int32_t number_of(ReadColumn& column) {
    const std::string_view text = rows_.value(column.at);
    const bool is_missing = text == kMissingName;
    if (is_missing && leaves_unknown()) {
      if (column.is_measured) column.measured.push_back(NAN);
      return kUnknown;
    }
    if (is_missing) count_missing(column);
    if (column.is_measured) return measure(column, text, is_missing);
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

  void count_missing(ReadColumn& column) {
    const std::string_view text = rows_.field(column.at.field);
    const auto at = column.missing.find(text);
    ++(at != column.missing.end() ? at->second : column.missing[std::string(text)]);
  }

  int32_t measure(ReadColumn& column, std::string_view text, bool is_missing) {
    const auto value = is_missing ? std::optional<double>(NAN) : column.scale.add(text);
    if (value) {
      column.measured.push_back(*value);
      return 0;
    }
    if (bins_.counts.contains(column.at.name))
      fail_input(rows_.place(), ": column ", printable(column.at.name), " is '", printable(text), "', a ",
                 column.scale.is_date() ? "date" : "number", column.measured.empty() ? " or a date" : "",
                 " was expected (bins=)");
    // The column was taken for numbers or dates until here; now it will be left out.
    column.is_measured = false;
    column.is_full = true;
    column.measured.clear();
    column.dictionary.number(text);
    return 0;
  }

  // One value too many to be labels: from here on the column holds numbers or dates, or else is left out in the end.
  int32_t take_no_more(ReadColumn& column, std::string_view text) {
    if (!column.declared_by.empty())  // all other values are declared
      fail_input(rows_.place(), ": column ", printable(column.at.name), " has a missing value besides the ", kMaxLabels,
                 " labels declared (", column.declared_by, "), the most that a column may have");
    column.is_full = true;
    if (judge(column).looks == Looks::identifier || column.numbers_as == NumbersOption::Kind::labels) return 0;
    start_measuring(column);
    return measure(column, text, text == kMissingName);
  }

  RefusedColumn judge(const ReadColumn& column) const {
    return judge_column(column.at.name,
                        {.dictionary = column.dictionary,
                         .has_missing = !column.missing.empty(),
                         .is_full = column.is_full,
                         .n_values = column.n_values,
                         .n_rows = lines_.size()},
                        max_labels_);
  }

  // Turns the labels stored so far into values: all are numbers, or all dates.
  void start_measuring(ReadColumn& column) {
    const std::vector<double> values = values_of(column);
    const int64_t n = static_cast<int64_t>(columns_.size());
    const int64_t i = &column - columns_.data();
    for (int64_t row = 0; row < lines_.size(); ++row) {
      const int32_t label = store_.at(row * n + i);
      column.measured.push_back(label == kUnknown ? NAN : values[label]);
      if (row % kRowsAtOnce == 0) store_.release();
    }
    column.is_measured = true;
    column.is_full = false;
  }

  // The values of the texts in the dictionary, NaN for that of missing values.
  static std::vector<double> values_of(ReadColumn& column) {
    std::vector<double> values;
    for (const std::string& text : column.dictionary.names())
      values.push_back(text == kMissingName ? NAN : *column.scale.add(text));
    return values;
  }

  // Decides what the columns become that the user said nothing about. InputError if none is left.
  void decide() {
    std::vector<RefusedColumn> refused;
    for (ReadColumn& column : columns_) {
      if (column.n_bins > 0 || !column.declared_by.empty()) continue;  // as the user requested
      const RefusedColumn judged = judge(column);
      column.becomes = fate_of(column, judged);
      if (column.becomes == Becomes::nothing) refused.push_back(judged);
      if (column.becomes != Becomes::bins) continue;
      column.n_bins = BinsOption::kAutoBins;
      if (!column.is_measured) start_measuring(column);
    }
    if (refused.size() == columns_.size()) refuse_columns(rows_.file(), name_, style_, refused, most_values());
    left_out_ = std::move(refused);
  }

  Becomes fate_of(const ReadColumn& column, const RefusedColumn& judged) const {
    using Kind = NumbersOption::Kind;
    const bool is_measured = judged.looks == Looks::measurement || judged.looks == Looks::date;
    if (column.numbers_as == Kind::labels) return column.is_full ? Becomes::nothing : Becomes::labels;
    if (column.is_measured || is_measured)
      return bins_.is_auto || column.numbers_as == Kind::bins ? Becomes::bins : Becomes::levels;
    if (judged.looks == Looks::identifier) return Becomes::nothing;
    const int64_t n_labels = column.dictionary.size() - (column.missing.empty() ? 0 : 1);
    const bool are_labels = max_labels_ > 0 || n_labels <= kFewestNumbers || !are_values(column.dictionary);
    return are_labels ? Becomes::labels : Becomes::levels;
  }

  // How many labels the largest column would have if all values were labels; 0: more than allowed.
  int64_t most_values() const {
    int64_t most = 0;
    for (const ReadColumn& column : columns_) {
      if (column.is_measured || !column.declared_by.empty()) continue;
      if (column.is_full) return 0;
      most = std::max(most, column.dictionary.size() - (column.missing.empty() ? 0 : 1));
    }
    return most;
  }

  // Returns the variables and renumbers the store to their labels.
  std::vector<Variable> make_variables() {
    std::vector<Variable> variables;
    std::vector<std::vector<int32_t>> places;
    bool is_plain = true;  // labels alone, which change places
    for (ReadColumn& column : columns_) {
      std::vector<Variable> added;
      if (column.becomes == Becomes::labels) {
        places.emplace_back();
        added = {labelled(column, places.back())};
      } else if (column.becomes != Becomes::nothing) {
        added = measured(column);
      }
      is_plain = is_plain && column.becomes == Becomes::labels;
      variables.insert(variables.end(), added.begin(), added.end());
    }
    if (is_plain) {
      store_.relabel(places);
    } else {
      write_anew();
    }
    return variables;
  }

  Variable labelled(ReadColumn& column, std::vector<int32_t>& place) const {
    if (column.dictionary.size() == 0)
      fail_input(rows_.file(), ": column ", printable(column.at.name),
                 " has only missing values, so its labels are unknown; leave it out (without=)");
    auto sorted = column.dictionary.sorted(kMissingName);
    place = std::move(sorted.place);
    for (const int32_t label : place) column.place.push_back({label, 0});
    return {column.at.name, column.dictionary.size(), std::move(sorted.names), {}, missing_text(column)};
  }

  // The variables of a column of numbers or dates: one, or two if levels share labels.
  std::vector<Variable> measured(ReadColumn& column) const {
    Variable variable{column.at.name, 0, {}, column.becomes == Becomes::bins ? binned(column) : levelled(column)};
    const Bins& bins = *variable.bins;
    for (int64_t label = 0; label < bins.size(); ++label) variable.label_names.push_back(bins.name(label));
    if (!column.missing.empty()) variable.label_names.emplace_back(kMissingName);
    variable.missing_text = missing_text(column);
    variable.n_labels = static_cast<int64_t>(variable.label_names.size());
    column.bins = bins;
    if (bins.n_variables() == 1) return {variable};
    variable.column = column.at.name;
    return {variable, {column.at.name + " (within)", bins.fine, {}, {}, {}, column.at.name}};
  }

  Bins binned(const ReadColumn& column) const {
    GrowingArray<double> values;
    for (const double value : column.measured)
      if (!std::isnan(value)) values.push_back(value);
    if (values.empty())
      fail_input(rows_.file(), ": column ", printable(column.at.name),
                 " has only missing values, nothing to bin (bins=)");
    return quantile_bins(column.scale, {values.begin(), values.end()}, column.n_bins);
  }

  // Also sets the places of the texts in the dictionary.
  Bins levelled(ReadColumn& column) const {
    std::map<double, int64_t> counts;
    std::vector<double> values;
    if (column.is_measured) {
      for (const double value : column.measured)
        if (!std::isnan(value)) ++counts[value];
    } else {
      values = values_of(column);
      const auto n = static_cast<int64_t>(columns_.size());
      const int64_t i = &column - columns_.data();
      for (int64_t row = 0; row < lines_.size(); ++row) {
        const int32_t code = store_.at(row * n + i);
        if (code != kUnknown && !std::isnan(values[code])) ++counts[values[code]];
      }
    }
    std::vector<CountedValue> counted;
    for (const auto& [value, count] : counts) counted.push_back({value, count});
    Bins levels = choose_levels(column.scale, counted);
    for (const double value : values)
      column.place.push_back(std::isnan(value) ? Bins::Place{levels.size(), 0} : levels.place(value));
    return levels;
  }

  // Writes the labels of all variables into a new store.
  void write_anew() {
    LabelStore labels;
    const auto n = static_cast<int64_t>(columns_.size());
    for (int64_t row = 0; row < lines_.size(); ++row) {
      if (row % kRowsAtOnce == 0) store_.release();
      for (int64_t i = 0; i < n; ++i) {
        const ReadColumn& column = columns_[i];
        if (column.becomes == Becomes::nothing) continue;
        const std::optional<Bins::Place> place = place_in(column, row, store_.at(row * n + i));
        labels.add(place ? static_cast<int32_t>(place->label) : static_cast<int32_t>(kUnknown));
        if (column.bins && column.bins->n_variables() == 2)
          labels.add(place ? static_cast<int32_t>(place->within) : static_cast<int32_t>(kUnknown));
      }
    }
    store_ = std::move(labels);
  }

  std::optional<Bins::Place> place_in(const ReadColumn& column, int64_t row, int32_t code) const {
    if (!column.is_measured) return code == kUnknown ? std::nullopt : std::optional(column.place[code]);
    const double value = column.measured[row];
    if (!std::isnan(value)) return column.bins->place(value);
    return leaves_unknown() ? std::nullopt : std::optional(Bins::Place{column.bins->size(), 0});
  }

  // Says what was made of the columns, where it is not plain labels.
  void tell() const {
    std::vector<std::string> numbers;
    for (const ReadColumn& column : columns_)
      if (column.becomes == Becomes::levels && column.bins->n_intervals() > 0)
        numbers.push_back(concat(printable(column.at.name), " ", describe_levels(*column.bins)));
    if (!numbers.empty())
      note(rows_.file(), ": ", numbers.size() == 1 ? "column" : "columns", " of numbers or dates: ",
           join(numbers, "; "));
    for (const RefusedColumn& column : left_out_)
      note(rows_.file(), ": column ", printable(column.name), " is left out: it has ", column.found,
           ", too many to be labels (max_labels= keeps them)");
  }

  // The text that most missing values of the column have; unset if none is missing.
  static std::optional<std::string> missing_text(const ReadColumn& column) {
    const auto often = std::max_element(column.missing.begin(), column.missing.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
    return often == column.missing.end() ? std::nullopt : std::optional(often->first);
  }

  const SourceName& name_;
  TableRows& rows_;
  OptionStyle style_;
  BinsOption bins_;
  int64_t max_labels_;
  std::vector<ReadColumn> columns_;
  std::vector<RefusedColumn> left_out_;
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
