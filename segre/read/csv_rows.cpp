#include "segre/read/csv_rows.h"

#include <set>
#include <unordered_map>

#include "segre/core/error.h"
#include "segre/core/log.h"
#include "segre/core/text.h"
#include "segre/io/csv_delimiter.h"
#include "segre/read/readers.h"

namespace segre {
namespace {

char delimiter_of(const SourceName& name) {
  if (!name.has("delimiter")) return CsvFormat::kFound;
  const std::string given =
      name.choice("delimiter", "comma", {"comma", ",", "semicolon", ";", "tab", "space", " ", "pipe", "|"});
  for (const char delimiter : {',', ';', '\t', ' ', '|'})
    if (given == delimiter_name(delimiter)) return delimiter;
  return given.front();
}

CsvRows::Missing missing_of(const SourceName& name) {
  const std::string given = name.choice("missing", "label", {"label", "unknown", "refuse"});
  return given == "label"     ? CsvRows::Missing::label
         : given == "unknown" ? CsvRows::Missing::unknown
                              : CsvRows::Missing::refuse;
}

CsvFormat format_of(const SourceName& name) {
  return {delimiter_of(name), encoding_of(name), name.flag("header", true)};
}

}  // namespace

CsvRows::CsvRows(const SourceName& name)
    : missing_(missing_of(name)), format_(format_of(name)), csv_(name.target(), format_) {
  if (!csv_.next())
    fail_input(file(), ": is empty, ", format_.has_header ? "a header line" : "a row of labels", " was expected");
  if (format_.delimiter == CsvFormat::kFound && csv_.delimiter() != ',')
    note(file(), ": fields are separated by ", delimiter_name(csv_.delimiter()),
         "s (delimiter=", delimiter_name(csv_.delimiter()), ")");
  header_place_ = place();
  is_row_waiting_ = !format_.has_header;
  read_names();
  choose_columns(name);
}

void CsvRows::read_names() {
  std::set<std::string> seen;
  for (int64_t i = 0; i < csv_.n_fields(); ++i) {
    names_.push_back(csv_.column_name(i));
    if (!seen.insert(names_.back()).second)
      fail_input(place(), ": column '", printable(names_.back()),
                 "' is named twice; if the file has no header, read it with header=0");
  }
}

void CsvRows::choose_columns(const SourceName& name) {
  std::unordered_map<std::string, int64_t> fields;  // a table may have a million columns
  for (size_t i = 0; i < names_.size(); ++i) fields.emplace(names_[i], static_cast<int64_t>(i));
  const auto find = [&](const std::string& wanted) {
    const auto at = fields.find(wanted);
    if (at == fields.end())
      fail_input(file(), ": has no column '", wanted, "'; the nearest is ", printable(nearest(wanted, names_)));
    return at->second;
  };
  const auto unwanted = name.words("without");
  for (const std::string& column : unwanted) find(column);
  const std::set<std::string> without(unwanted.begin(), unwanted.end());
  std::set<std::string> taken;
  for (const std::string& wanted : name.has("columns") ? name.words("columns") : names_) {
    if (without.contains(wanted)) continue;
    if (!taken.insert(wanted).second) name.fail_option("columns", "each column once");
    columns_.push_back({wanted, find(wanted)});
  }
  if (columns_.empty()) fail_input("data source ", name.text(), ": no column is left");
}

bool CsvRows::next() {
  if (!is_row_waiting_) return csv_.next();
  is_row_waiting_ = false;
  return true;
}

std::string_view CsvRows::value(const CsvColumn& column) const {
  const std::string_view text = csv_.field(column.field);
  if (!is_missing(text)) return text;
  if (refuses_missing())
    fail_input(place(), ": column ", printable(column.name), " is '", text,
               "', a missing value; a label was expected (missing=refuse)");
  return kMissingName;
}

std::string CsvRows::place() const { return concat(file(), ":", csv_.line()); }

}  // namespace segre
