#include "segre/read/read_table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "segre/core/error.h"
#include "segre/core/log.h"
#include "segre/core/text.h"
#include "segre/data/label_store.h"
#include "segre/read/column_bins.h"
#include "segre/read/csv_rows.h"
#include "segre/read/number_levels.h"
#include "segre/read/readers.h"
#include "segre/read/table_report.h"

namespace segre {
namespace {

constexpr int64_t kRowsAtOnce = 1 << 20;              // after which what is in temporary files leaves memory
constexpr int64_t kFewestInFile = int64_t{16} << 20;  // bytes of a column's values that are worth a file
constexpr int64_t kFewestNumbers = 2;                 // different ones: so few are labels
constexpr Bins::Place kNowhere{kUnknown, kUnknown};

using Use = ColumnReport::Use;  // what a column becomes

struct ReadColumn {
  TableColumn at;
  Use use = Use::labels;
  NumbersOption::Kind numbers_as = NumbersOption::Kind::levels;
  bool is_named = false;             // in numbers=
  LabelDictionary dictionary;        // the texts in the order of their codes
  FoundByCode numbers;               // in the dictionary
  std::vector<Bins::Place> place{};  // of the texts in the dictionary, once the column is judged
  std::optional<Bins> bins{};        // likewise, of numbers and dates
  std::string declared_by;           // the option that declares its labels; empty: they are those found
  std::map<std::string, int64_t, std::less<>> missing;  // how missing values are written, and how often
  std::map<std::string, int64_t, std::less<>> marks;    // the same of those that may be: ? and the like
  std::string first_mark;                               // where the first of these is
  LabelDictionary labels;                               // the dictionary without marks, if they are missing values
  bool has_marks = false;                               // whether they are
  bool is_full = false;           // more different values than labels are possible: no more are added
  int64_t n_values = 0;           // rows with a value, until the dictionary is full
  int64_t n_different = 0;        // values, once the column is judged
  int64_t n_bins = 0;             // the number of bins requested; 0: none
  bool is_measured = false;       // the values are kept as numbers
  ValueScale scale;               // of numbers and dates
  GrowingArray<double> measured;  // values, one per row; NaN: missing
  std::string why;                // it is left out

  bool is_mark(std::string_view text) const { return has_marks && is_missing_mark(text) && !labels.has(text); }
  /// The labels it would have.
  const LabelDictionary& found() const { return has_marks ? labels : dictionary; }
  int64_t n_found() const { return found().size() - (found().has(kMissingName) ? 1 : 0); }
  int64_t n_missing() const {
    int64_t n = 0;
    for (const auto& [text, count] : missing) n += count;
    return n;
  }
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
    column.is_named = numbers.kinds.contains(at.name);
    column.measured = GrowingArray<double>(most_measured);
    if (bins != option.counts.end()) {
      column.use = Use::bins;
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
  for (const auto& [name, count] : option.counts) require_column(rows, names, name, "to bin (bins=)");
  for (const auto& [name, kind] : numbers.kinds) require_column(rows, names, name, "of numbers (numbers=)");
  return columns;
}

// Whether a column's name could be one of its values: of numbers, those that occur and all that have a fraction.
bool is_named_like_a_value(const ReadColumn& column) {
  if (column.use == Use::left_out || column.dictionary.has(column.at.name)) return true;
  const bool is_value = column.use != Use::labels && ValueScale(column.scale).add(column.at.name).has_value();
  return is_value && (column.n_bins > 0 || !is_integer(column.at.name));
}

// Refuses a first line that could also be an item, so that no item is lost unless the user declares it a header.
void check_header(const SourceName& name, const std::string& place, const std::vector<ReadColumn>& columns) {
  for (const char* option : {"header", "columns", "without", "dictionary"})
    if (name.has(option)) return;  // the user knows the names
  if (std::all_of(columns.begin(), columns.end(), is_named_like_a_value))
    fail_input(place, ": every column is named after one of its own labels, such as '",
               printable(columns.front().at.name),
               "'; read the file with header=0 if this line is data, with header=1 if it names the columns");
}

// "a, b, c and 5 more".
std::string some_of(std::vector<std::string> words) {
  constexpr size_t kMostNamed = 8;
  const size_t n = words.size();
  words.resize(std::min(n, kMostNamed));
  return join(words, ", ") + (n > kMostNamed ? concat(" and ", n - kMostNamed, " more") : "");
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
    read_rows();
    if (!decide()) fail_input(why_nothing());
    Dataset data = make_data();
    tell();
    return data;
  }

  TableReport report() {
    read_rows();
    const bool is_left = decide();
    TableReport report;
    report.n_rows = n_rows_;
    if (is_left) {
      report.data = make_data();
    } else {
      report.nothing = why_nothing();
    }
    int64_t variable = 0;
    for (const ReadColumn& column : columns_) {
      report.columns.push_back(report_of(column));
      if (column.use == Use::left_out) continue;
      if (report.data) add_labels(*report.data, variable, report.columns.back());
      variable += column.bins ? column.bins->n_variables() : 1;
    }
    return report;
  }

 private:
  void read_rows() {
    for (const int64_t limit = name_.limit(); lines_.size() < limit && rows_.next();) {
      for (ReadColumn& column : columns_) store_.add(number_of(column));
      lines_.add(rows_.line());
    }
    n_rows_ = lines_.size();
    if (n_rows_ == 0) fail_input(rows_.file(), ": has a header but no rows");
  }

  Dataset make_data() {
    if (rows_.has_header()) check_header(name_, rows_.header_place(), columns_);
    const Space space = Space::table(make_variables());
    const Unknowns unknowns = leaves_unknown() ? Unknowns::allow : Unknowns::refuse;
    return {space, store_.take(space, unknowns), false, rows_.origin(std::move(lines_)), unknowns};
  }

  bool leaves_unknown() const { return rows_.missing() == TableRows::Missing::unknown; }

  // The value of a row; a mark such as ? is missing at once where nothing but numbers, or declared labels, may be.
  std::string_view text_in(const ReadColumn& column) const {
    const std::string_view text = rows_.value(column.at);
    if (!is_missing_mark(text)) return text;
    const bool is_plain = column.is_measured || column.n_bins > 0;
    const bool is_missing = column.declared_by.empty() ? is_plain : text == "?" && !column.dictionary.has(text);
    return is_missing ? rows_.missing_value(column.at) : text;
  }

  // What the store keeps for a value: its number in the column's dictionary, 0 in a column that is measured.
  int32_t number_of(ReadColumn& column) {
    const std::string_view text = text_in(column);
    const bool is_missing = text == kMissingName;
    if (is_missing) count_missing(column.missing, rows_.field(column.at.field));
    if (is_missing && leaves_unknown()) {
      if (column.is_measured) column.measured.push_back(NAN);
      return kUnknown;
    }
    if (column.is_measured) return measure(column, text, is_missing);
    if (column.is_full) return 0;
    if (column.declared_by.empty() && is_missing_mark(text)) {
      if (column.marks.empty()) column.first_mark = rows_.place();
      count_missing(column.marks, text);
    }
    const int32_t code = rows_.code(column.at.field);
    int32_t number = column.numbers.find(code);
    if (number == FoundByCode::kNothing) {
      if (!is_missing && !column.declared_by.empty() && !column.dictionary.has(text))
        refuse_undeclared(rows_.place(), column.at.name, text, column.declared_by, column.dictionary);
      if (!is_missing && column.n_bins > 0 && !column.scale.add(text)) refuse_to_bin(column, text);
      if (column.dictionary.size() == kMaxLabels && !column.dictionary.has(text)) return take_no_more(column, text);
      number = column.dictionary.number(text);
      column.numbers.keep(code, number);
    }
    column.n_values += is_missing ? 0 : 1;
    return number;
  }

  static void count_missing(std::map<std::string, int64_t, std::less<>>& counts, std::string_view text) {
    const auto at = counts.find(text);
    ++(at != counts.end() ? at->second : counts[std::string(text)]);
  }

  [[noreturn]] void refuse_to_bin(const ReadColumn& column, std::string_view text) const {
    fail_input(rows_.place(), ": column ", printable(column.at.name), " is '", printable(text), "', a ",
               column.scale.with_edges({}).called(), column.scale.is_empty() ? " or a date" : "",
               " was expected (bins=)");
  }

  int32_t measure(ReadColumn& column, std::string_view text, bool is_missing) {
    const auto value = is_missing ? std::optional<double>(NAN) : column.scale.add(text);
    if (value) {
      column.measured.push_back(*value);
      return 0;
    }
    if (column.use == Use::bins) refuse_to_bin(column, text);
    // The column was taken for numbers or dates until here; now it will be left out.
    column.is_measured = false;
    column.is_full = true;
    column.measured.clear();
    column.dictionary.number(text);
    if (column.has_marks) column.labels.number(text);
    return 0;
  }

  // One value too many to be labels: from here on the column holds numbers or dates, or else is left out in the end.
  int32_t take_no_more(ReadColumn& column, std::string_view text) {
    if (!column.declared_by.empty())  // all other values are declared
      fail_input(rows_.place(), ": column ", printable(column.at.name), " has a missing value besides the ", kMaxLabels,
                 " labels declared (", column.declared_by, "), the most that a column may have");
    column.is_full = true;
    settle_marks(column);
    const bool is_left_out = column.numbers_as == NumbersOption::Kind::labels || !are_values(column.found()) ||
                             (!column.is_named && judge(column).looks == Looks::identifier);
    if (column.n_bins == 0 && is_left_out) return 0;
    start_measuring(column);
    const std::string_view value = is_missing_mark(text) ? rows_.missing_value(column.at) : text;
    return measure(column, value, value == kMissingName);
  }

  // Decides whether texts such as ? are missing values of a column: among numbers or dates they are, and a ? also among
  // labels that are all words.
  void settle_marks(ReadColumn& column) {
    if (column.marks.empty() || column.has_marks) return;
    LabelDictionary others;
    for (const std::string& text : column.dictionary.names())
      if (!is_missing_mark(text) && text != kMissingName) others.number(text);
    const bool are_numbers = others.size() > 0 && are_values(others);
    const bool are_words = std::all_of(column.dictionary.names().begin(), column.dictionary.names().end(),
                                       [](const std::string& text) { return text == "?" || is_word(text); });
    const auto is_mark = [&](std::string_view text) {
      return is_missing_mark(text) && (are_numbers || (text == "?" && are_words));
    };
    for (const auto& [text, count] : column.marks) {
      if (!is_mark(text)) continue;
      column.has_marks = true;
      column.missing[text] += count;
      column.n_values -= count;
      if (rows_.refuses_missing())
        fail_input(column.first_mark, ": column ", printable(column.at.name), " is '", text,
                   "', a missing value; a label was expected (missing=refuse)");
    }
    if (!column.has_marks) return;
    for (const std::string& text : column.dictionary.names())
      if (!is_mark(text)) column.labels.number(text);
    if (!leaves_unknown()) column.labels.number(kMissingName);
  }

  JudgedColumn judge(const ReadColumn& column) const {
    return judge_column(column.at.name,
                        {.dictionary = column.found(),
                         .has_missing = column.found().has(kMissingName),
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

  // The values of the texts in the dictionary, NaN for those that are missing.
  std::vector<double> values_of(ReadColumn& column) const {
    const auto is_value = [&](const std::string& text) { return text != kMissingName && !column.is_mark(text); };
    for (const std::string& text : column.dictionary.names())  // which settles how dates are written
      if (is_value(text)) column.scale.add(text);
    if (column.scale.is_ambiguous())
      fail_input(rows_.file(), ": column ", printable(column.at.name), " has dates such as ",
                 column.dictionary.names().front(), ", which could be read in two ways; write the year first (bins=)");
    std::vector<double> values;
    for (const std::string& text : column.dictionary.names())
      values.push_back(is_value(text) ? *column.scale.add(text) : NAN);
    return values;
  }

  // Decides what the columns become that the user said nothing about. False if none is left.
  bool decide() {
    for (ReadColumn& column : columns_) {
      if (column.declared_by.empty()) settle_marks(column);
      const JudgedColumn judged = judge(column);
      column.n_different = column.n_found();
      if (column.n_bins == 0 && column.declared_by.empty()) column.use = use_of(column, judged);
      if (column.use == Use::left_out) left_out_.push_back({judged.name, judged.looks, why_without(column, judged)});
      if (column.use == Use::left_out) column.why = left_out_.back().found;
      if (column.use != Use::bins) continue;
      if (column.n_bins == 0) column.n_bins = BinsOption::kAutoBins;
      if (!column.is_measured) start_measuring(column);
    }
    return left_out_.size() < columns_.size();
  }

  Use use_of(const ReadColumn& column, const JudgedColumn& judged) const {
    using Kind = NumbersOption::Kind;
    const bool is_measured = judged.looks == Looks::measurement || judged.looks == Looks::date;
    if (!column.is_measured && column.n_found() == 0) return Use::left_out;
    if (column.numbers_as == Kind::labels) return column.is_full ? Use::left_out : Use::labels;
    if (column.is_measured || is_measured)
      return bins_.is_auto || column.numbers_as == Kind::bins ? Use::bins : Use::levels;
    const bool are_numbers = (column.is_named || max_labels_ == 0) && are_values(column.found());
    if (judged.looks == Looks::identifier && !(column.is_named && are_numbers)) return Use::left_out;
    if (!are_numbers || are_flags(column)) return Use::labels;
    return column.numbers_as == Kind::bins ? Use::bins : Use::levels;
  }

  // Whether a column of numbers or dates has one or two of them, each written in one way: labels, such as flags.
  bool are_flags(const ReadColumn& column) const {
    if (column.is_named || column.n_found() > kFewestNumbers) return false;
    ValueScale scale;
    std::set<double> values;
    for (const std::string& text : column.found().names())
      if (text != kMissingName) values.insert(*scale.add(text));
    return static_cast<int64_t>(values.size()) == column.n_found();
  }

  std::string why_without(const ReadColumn& column, const JudgedColumn& judged) const {
    if (column.n_found() == 0 && !column.is_full) return "only missing values";
    return are_ambiguous_dates(column.found()) ? judged.found + " (dates that could be read in two ways)"
                                               : judged.found;
  }

  std::string why_nothing() const { return why_nothing_is_left(rows_.file(), name_, style_, left_out_, most_values()); }

  // How many labels the largest column would have if all values were labels; 0: more than allowed, or none.
  int64_t most_values() const {
    int64_t most = 0;
    for (const ReadColumn& column : columns_) {
      if (column.is_full) return 0;
      most = std::max(most, column.n_found());
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
      if (column.use == Use::labels) {
        added = {labelled(column)};
        places.emplace_back();
        for (const Bins::Place& place : column.place) places.back().push_back(static_cast<int32_t>(place.label));
      } else if (column.use != Use::left_out) {
        added = measured(column);
      }
      is_plain = is_plain && column.use == Use::labels && !(column.has_marks && leaves_unknown());
      variables.insert(variables.end(), added.begin(), added.end());
    }
    if (is_plain) {
      store_.relabel(places);
    } else {
      write_anew();
    }
    return variables;
  }

  Variable labelled(ReadColumn& column) const {
    if (column.found().size() == 0)
      fail_input(rows_.file(), ": column ", printable(column.at.name),
                 " has only missing values, so its labels are unknown; leave it out (without=)");
    auto sorted = column.found().sorted(kMissingName);
    for (const std::string& text : column.dictionary.names()) {
      const bool is_missing = column.is_mark(text);
      column.place.push_back(is_missing && leaves_unknown()
                                 ? kNowhere
                                 : Bins::Place{sorted.place[column.found().at(is_missing ? kMissingName : text)], 0});
    }
    const auto n_labels = static_cast<int64_t>(sorted.names.size());
    return {column.at.name, n_labels, std::move(sorted.names), {}, missing_text(column)};
  }

  // The variables of a column of numbers or dates: one, or two if levels share labels.
  std::vector<Variable> measured(ReadColumn& column) const {
    Variable variable{column.at.name, 0, {}, column.use == Use::bins ? binned(column) : levelled(column)};
    const Bins& bins = *variable.bins;
    for (int64_t label = 0; label < bins.size(); ++label) variable.label_names.push_back(bins.name(label));
    variable.missing_text = missing_text(column);
    if (variable.missing_text) variable.label_names.emplace_back(kMissingName);
    variable.n_labels = static_cast<int64_t>(variable.label_names.size());
    column.bins = bins;
    if (bins.n_variables() == 1) return {variable};
    variable.column = column.at.name;
    return {variable, {column.at.name + " (within)", bins.fine, {}, {}, {}, column.at.name}};
  }

  Bins binned(ReadColumn& column) const {
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
    column.n_different = static_cast<int64_t>(counted.size());
    Bins levels = choose_levels(column.scale, counted);
    for (const double value : values) column.place.push_back(place_of(levels, value));
    return levels;
  }

  // The place of a value; of NaN, that of missing values.
  Bins::Place place_of(const Bins& bins, double value) const {
    if (!std::isnan(value)) return bins.place(value);
    return leaves_unknown() ? kNowhere : Bins::Place{bins.size(), 0};
  }

  // Writes the labels of all variables into a new store.
  void write_anew() {
    LabelStore labels;
    const auto n = static_cast<int64_t>(columns_.size());
    for (int64_t row = 0; row < lines_.size(); ++row) {
      if (row % kRowsAtOnce == 0) store_.release();
      for (int64_t i = 0; i < n; ++i) {
        const ReadColumn& column = columns_[i];
        if (column.use == Use::left_out) continue;
        const Bins::Place place = place_in(column, row, store_.at(row * n + i));
        labels.add(static_cast<int32_t>(place.label));
        if (column.bins && column.bins->n_variables() == 2) labels.add(static_cast<int32_t>(place.within));
      }
    }
    store_ = std::move(labels);
  }

  Bins::Place place_in(const ReadColumn& column, int64_t row, int32_t code) const {
    if (column.is_measured) return place_of(*column.bins, column.measured[row]);
    return code == kUnknown ? kNowhere : column.place[code];
  }

  // Says what was made of the columns, where it is not plain labels.
  void tell() const {
    std::map<std::string, std::vector<std::string>> measured;  // by what their values are called
    for (const ReadColumn& column : columns_)
      if (column.use == Use::levels && column.bins->n_intervals() > 0)
        measured[column.bins->called()].push_back(
            concat(printable(column.at.name), " (", describe_levels(*column.bins), ")"));
    std::vector<std::string> without;
    for (const JudgedColumn& column : left_out_)
      without.push_back(concat(printable(column.name), " (", column.found, ")"));
    for (const auto& [called, columns] : measured)
      note(rows_.file(), ": ", columns.size() == 1 ? "a column of " : concat(columns.size(), " columns of "),
           plural(called), ": ", some_of(columns));
    if (!without.empty()) note(rows_.file(), ": left out: ", some_of(without));
  }

  // What there is to know about the labels of a column's first variable.
  static void add_labels(const Dataset& data, int64_t variable, ColumnReport& report) {
    const auto labels = data.labels.select(1, variable).to(torch::kInt64);
    const auto counts = torch::bincount(labels + 1, {}, data.space.n_labels(variable) + 1);  // unknown ones first
    const auto common = counts.slice(0, 1).argmax().item<int64_t>();
    report.n_labels = data.space.n_labels(variable);
    report.common = data.space.label_name(variable, common);
    report.common_share = counts[common + 1].item<double>() / static_cast<double>(labels.numel());
  }

  ColumnReport report_of(const ReadColumn& column) const {
    ColumnReport report{.name = column.at.name, .use = column.use, .why = column.why};
    report.n_different = column.n_different;
    report.missing_share = static_cast<double>(column.n_missing()) / static_cast<double>(n_rows_);
    report.missing_text = missing_text_of(column).value_or("");
    for (const std::string& text : column.found().names()) {
      if (text == kMissingName) continue;
      report.example = text;
      break;
    }
    if (!column.bins) return report;
    report.called = column.bins->called();
    report.least = column.bins->text_of(column.bins->least());
    report.most = column.bins->text_of(column.bins->largest());
    return report;
  }

  // How the label of missing values is written; unset if there is none.
  std::optional<std::string> missing_text(const ReadColumn& column) const {
    return leaves_unknown() ? std::nullopt : missing_text_of(column);
  }

  // The text that most missing values of the column have; unset if none is missing.
  static std::optional<std::string> missing_text_of(const ReadColumn& column) {
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
  std::vector<JudgedColumn> left_out_;
  LabelStore store_;
  ItemNumbers lines_;
  int64_t n_rows_ = 0;
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

TableReport report_csv_table(const SourceName& name) {
  CsvRows rows(name);
  return TableReader(name, rows, OptionStyle::source_name).report();
}

std::string plural(const std::string& called) { return called == "time of day" ? "times of day" : called + "s"; }

Dataset read_csv_table(const SourceName& name) {
  CsvRows rows(name);
  return read_table(name, rows, OptionStyle::source_name);
}

}  // namespace segre
