#include <algorithm>
#include <set>
#include <unordered_map>

#include "segre/core/error.h"
#include "segre/core/text.h"
#include "segre/data/declared_labels.h"
#include "segre/data/label_store.h"
#include "segre/data/list_labels.h"
#include "segre/data/readers.h"

namespace segre {
namespace {

// More different values than either are no labels but identifiers, unless max_labels says otherwise.
constexpr int64_t kFewValues = 50;
constexpr int64_t kRowsPerValue = 2;
// Numbers with fractions are measurements when there are more of them than a coarse scale has steps.
constexpr int64_t kFewNumbers = 20;

struct Column {
  std::string name;
  int64_t field = 0;
  LabelDictionary dictionary;
  std::string declared_by;  // the option that says what its labels are; empty: they are what is found
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

CsvFormat format_of(const SourceName& name) {
  return {delimiter_of(name), encoding_of(name), name.flag("header", true)};
}

std::vector<std::string> column_names(const CsvReader& csv) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (int64_t i = 0; i < csv.n_fields(); ++i) {
    names.push_back(csv.column_name(i));
    if (!seen.insert(names.back()).second)
      fail_input(csv.name(), ":", csv.line(), ": column '", printable(names.back()),
                 "' is named twice; if the file has no header, read it with header=0");
  }
  return names;
}

// The columns wanted: those of columns=, in that order, or all; less those of without=.
std::vector<Column> choose_columns(const SourceName& name, const CsvReader& csv, const DeclaredLabels& declared) {
  const auto names = column_names(csv);
  declared.require_columns(names, csv.name());
  std::unordered_map<std::string, int64_t> fields;  // a table may have a million columns
  for (size_t i = 0; i < names.size(); ++i) fields.emplace(names[i], static_cast<int64_t>(i));
  const auto find = [&](const std::string& wanted) {
    const auto at = fields.find(wanted);
    if (at == fields.end())
      fail_input(csv.name(), ": has no column '", wanted, "'; the nearest is ", printable(nearest(wanted, names)));
    return at->second;
  };
  const auto unwanted = name.words("without");
  for (const std::string& column : unwanted) find(column);
  const std::set<std::string> without(unwanted.begin(), unwanted.end());
  std::set<std::string> taken;
  std::vector<Column> columns;
  for (const std::string& wanted : name.has("columns") ? name.words("columns") : names) {
    if (without.contains(wanted)) continue;
    if (!taken.insert(wanted).second) name.fail_option("columns", "each column once");
    auto labels = declared.of(wanted);
    const std::string option = labels ? declared.option_for(wanted) : "";
    columns.push_back({wanted, find(wanted), std::move(labels).value_or(LabelDictionary()), option});
  }
  if (columns.empty()) fail_input("data source ", name.text(), ": no column is left");
  return columns;
}

// A first line that could as well be an item: nobody said that it is a header, so nobody may lose an item to it.
void check_header(const SourceName& name, const std::string& place, const std::vector<Column>& columns) {
  for (const char* option : {"header", "columns", "without", "dictionary"})
    if (name.has(option)) return;  // the user knows the names
  if (std::all_of(columns.begin(), columns.end(), [](const Column& c) { return c.dictionary.has(c.name); }))
    fail_input(place, ": every column is named as one of its own labels, '", printable(columns.front().name),
               "' the first; read the file with header=0 if this line is data, with header=1 if it names the columns");
}

[[noreturn]] void refuse(const CsvReader& csv, const Column& column, const std::string& found, int64_t distinct) {
  fail_input(csv.name(), ": column ", printable(column.name), " has ", distinct, " ", found,
             ", too many to be labels: leave it out (without=", printable(column.name),
             "), put its values into bins, or take them as they are (max_labels=", distinct, ")");
}

void check_column(const CsvReader& csv, const Column& column, int64_t n_rows, int64_t max_labels) {
  if (!column.declared_by.empty()) return;  // labels because the user says so
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
      fail_input(csv.name(), ":", csv.line(), ": column ", printable(column.name), " is '", text,
                 "', which stands for a missing value; a label was expected (missing=refuse)");
    text = kMissingName;
    column.has_missing = true;
  } else if (!column.declared_by.empty() && !column.dictionary.has(text)) {
    fail_input(csv.name(), ":", csv.line(), ": column ", printable(column.name), " has the label '", printable(text),
               "', which is not declared (", column.declared_by, "); it has ", list_labels(column.dictionary.names()));
  }
  const int32_t number = column.dictionary.number(text);
  if (number == kMaxLabels) refuse(csv, column, concat("different values by line ", csv.line()), number + 1);
  return number;
}

}  // namespace

TextEncoding encoding_of(const SourceName& name) {
  return name.choice("encoding", "utf8", {"utf8", "latin1"}) == "latin1" ? TextEncoding::latin1 : TextEncoding::utf8;
}

Dataset read_csv_table(const SourceName& name) {
  const bool refuse_missing = name.choice("missing", "label", {"label", "refuse"}) == "refuse";
  const int64_t max_labels = name.integer("max_labels", 0, {1, kMaxLabels});
  const int64_t limit = name.limit();
  const CsvFormat format = format_of(name);
  const DeclaredLabels declared(name, format.encoding, refuse_missing);
  CsvReader csv(name.target(), format);
  if (!csv.next())
    fail_input(csv.name(), ": is empty, ", format.has_header ? "a header line" : "a row of labels", " was expected");
  auto columns = choose_columns(name, csv, declared);
  const std::string first_line = concat(csv.name(), ":", csv.line());

  LabelStore store;
  ItemNumbers lines;
  bool is_row = !format.has_header;  // the first one is waiting
  for (; lines.size() < limit && (is_row || csv.next()); is_row = false) {
    for (Column& column : columns) store.add(number_of(csv, column, refuse_missing));
    lines.add(csv.line());
  }
  if (lines.size() == 0) fail_input(csv.name(), ": has a header and no rows");
  if (format.has_header) check_header(name, first_line, columns);

  std::vector<Variable> variables;
  std::vector<std::vector<int32_t>> place;
  for (const Column& column : columns) {
    check_column(csv, column, lines.size(), max_labels);
    auto sorted = column.dictionary.sorted(kMissingName);
    variables.push_back({column.name, column.dictionary.size(), std::move(sorted.names)});
    place.push_back(std::move(sorted.place));
  }
  store.relabel(place);
  const Space space = Space::table(std::move(variables));
  return {space, store.take(space), false, Origin::lines(csv.name(), std::move(lines))};
}

}  // namespace segre
