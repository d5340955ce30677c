#include "segre/read/csv_rows.h"

#include "segre/core/error.h"
#include "segre/core/log.h"
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

CsvFormat format_of(const SourceName& name) {
  return {delimiter_of(name), encoding_of(name), name.flag("header", true)};
}

}  // namespace

CsvRows::CsvRows(const SourceName& name)
    : TableRows(name, name.target()), format_(format_of(name)), csv_(name.target(), format_) {
  if (!csv_.next())
    fail_input(file(), ": is empty, ", format_.has_header ? "a header line" : "a row of labels", " was expected");
  if (format_.delimiter == CsvFormat::kFound && csv_.delimiter() != ',')
    note(file(), ": fields are separated by ", delimiter_name(csv_.delimiter()),
         "s (delimiter=", delimiter_name(csv_.delimiter()), ")");
  is_row_waiting_ = !format_.has_header;
  std::vector<std::string> names;
  for (int64_t i = 0; i < csv_.n_fields(); ++i) names.push_back(csv_.column_name(i));
  set_columns(name, std::move(names), {place(), format_.has_header});
}

bool CsvRows::next() {
  if (!is_row_waiting_) return csv_.next();
  is_row_waiting_ = false;
  return true;
}

}  // namespace segre
