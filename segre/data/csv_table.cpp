#include <algorithm>
#include <set>

#include "segre/core/error.h"
#include "segre/core/text.h"
#include "segre/data/label_dictionary.h"
#include "segre/data/label_store.h"
#include "segre/data/readers.h"
#include "segre/io/csv_reader.h"

namespace segre {
namespace {

// More different values than either are no labels but identifiers, unless max_labels says otherwise.
constexpr int64_t kFewValues = 50;
constexpr int64_t kRowsPerValue = 2;
// Numbers with fractions are measurements when there are more of them than a coarse scale has steps.
constexpr int64_t kFewNumbers = 20;

bool is_missing(std::string_view text) {
  static constexpr std::string_view kMissing[] = {"", "NA", "N/A", "NaN", "nan", "null", "NULL", "?", kMissingName};
  constexpr size_t kLongest = 9;
  return text.size() <= kLongest && std::find(std::begin(kMissing), std::end(kMissing), text) != std::end(kMissing);
}

struct Column {
  std::string name;
  int64_t field = 0;
  LabelDictionary dictionary;
  bool has_missing = false;
};

char delimiter_of(const SourceName& name) {
  const std::string given =
      name.choice("delimiter", "comma", {"comma", ",", "semicolon", ";", "tab", "space", " ", "pipe", "|"});
  if (given == "tab") return '\t';
  if (given == "space") return ' ';
  if (given == "comma") return ',';
  if (given == "semicolon") return ';';
  if (given == "pipe") return '|';
  return given.front();
}

std::vector<std::string> column_names(const CsvReader& csv) {
  std::vector<std::string> names = csv.fields();
  std::set<std::string> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) names[i] = concat("x", i + 1);
    if (!seen.insert(names[i]).second)
      fail_input(csv.name(), ":", csv.line(), ": column '", names[i], "' is named twice");
  }
  return names;
}

// The columns wanted: those of columns=, in that order, or all; less those of without=.
std::vector<Column> choose_columns(const SourceName& name, const CsvReader& csv) {
  const auto names = column_names(csv);
  const auto find = [&](const std::string& wanted) {
    const auto at = std::find(names.begin(), names.end(), wanted);
    if (at == names.end())
      fail_input(csv.name(), ": has no column '", wanted, "'; the nearest is ", nearest(wanted, names));
    return at - names.begin();
  };
  const auto without = name.words("without");
  for (const std::string& unwanted : without) find(unwanted);
  std::vector<Column> columns;
  for (const std::string& wanted : name.has("columns") ? name.words("columns") : names) {
    if (std::find(without.begin(), without.end(), wanted) != without.end()) continue;
    const bool again = std::any_of(columns.begin(), columns.end(), [&](const Column& c) { return c.name == wanted; });
    if (again) name.fail_option("columns", "each column once");
    columns.push_back({wanted, find(wanted), {}, false});
  }
  if (columns.empty()) fail_input("data source ", name.text(), ": no column is left");
  return columns;
}

[[noreturn]] void refuse(const CsvReader& csv, const Column& column, const std::string& found, int64_t distinct) {
  fail_input(csv.name(), ": column ", column.name, " has ", distinct, " ", found,
             ", too many to be labels: leave it out (without=", column.name,
             "), put its values into bins, or take them as they are (max_labels=", distinct, ")");
}

void check_column(const CsvReader& csv, const Column& column, int64_t n_rows, int64_t max_labels) {
  const auto& names = column.dictionary.names();
  const int64_t distinct = column.dictionary.size() - (column.has_missing ? 1 : 0);
  if (max_labels > 0) {
    if (distinct > max_labels) refuse(csv, column, "different values", distinct);
    return;
  }
  if (distinct > std::max(kFewValues, n_rows / kRowsPerValue))
    refuse(csv, column, concat("different values in ", n_rows, " rows"), distinct);
  const auto is_real = [](const std::string& text) { return text == kMissingName || is_number(text); };
  const auto is_whole = [](const std::string& text) { return text == kMissingName || is_integer(text); };
  if (distinct > kFewNumbers && !std::all_of(names.begin(), names.end(), is_whole) &&
      std::all_of(names.begin(), names.end(), is_real))
    refuse(csv, column, "different numbers with fractions", distinct);
}

int32_t number_of(const CsvReader& csv, Column& column, bool refuse_missing) {
  std::string_view text = csv.field(column.field);
  if (is_missing(text)) {
    if (refuse_missing)
      fail_input(csv.name(), ":", csv.line(), ": column ", column.name, " is '", text,
                 "', which stands for a missing value; a label was expected (missing=refuse)");
    text = kMissingName;
    column.has_missing = true;
  }
  const int32_t number = column.dictionary.number(text);
  if (number == kMaxLabels) refuse(csv, column, concat("different values by line ", csv.line()), number + 1);
  return number;
}

}  // namespace

Dataset read_csv_table(const SourceName& name) {
  const bool refuse_missing = name.choice("missing", "label", {"label", "refuse"}) == "refuse";
  const int64_t max_labels = name.integer("max_labels", 0, {1, kMaxLabels});
  const int64_t limit = name.limit();
  CsvReader csv(name.target(), delimiter_of(name));
  if (!csv.next()) fail_input(csv.name(), ": is empty, a header line was expected");
  auto columns = choose_columns(name, csv);

  LabelStore store;
  int64_t n_rows = 0;
  for (; n_rows < limit && csv.next(); ++n_rows)
    for (Column& column : columns) store.add(number_of(csv, column, refuse_missing));
  if (n_rows == 0) fail_input(csv.name(), ": has a header and no rows");

  std::vector<Variable> variables;
  std::vector<std::vector<int32_t>> place;
  for (const Column& column : columns) {
    check_column(csv, column, n_rows, max_labels);
    auto sorted = column.dictionary.sorted(kMissingName);
    variables.push_back({column.name, column.dictionary.size(), std::move(sorted.names)});
    place.push_back(std::move(sorted.place));
  }
  store.relabel(place);
  const Space space = Space::table(std::move(variables));
  return {space, store.take(space)};
}

}  // namespace segre
