#pragma once  // internal

#include <string>
#include <vector>

#include "segre/data/source_name.h"
#include "segre/io/csv_reader.h"

namespace segre {

/// A column selected by the source's options, and its field in a row.
struct CsvColumn {
  std::string name;
  int64_t field = 0;
};

/// The rows of `csv:FILE`, read as the source's options say: delimiter=, encoding=, header=, columns=, without=,
/// missing=. A delimiter that is not given is detected, with a note unless it is the comma.
class CsvRows {
 public:
  /// Opens the file and reads its header. InputError for an empty file, a column named twice, and a column of columns=
  /// or without= that the file does not have.
  explicit CsvRows(const SourceName& name);

  /// Advances to the next row of values; false at the end of the file.
  bool next();
  /// What to do with missing values.
  enum class Missing { label, unknown, refuse };

  /// A value of the row; if it is missing, kMissingName, or InputError with missing=refuse.
  std::string_view value(const CsvColumn& column) const;
  /// All fields of the row as they are, whether or not they were selected.
  int64_t n_fields() const { return csv_.n_fields(); }
  std::string_view field(int64_t i) const { return csv_.field(i); }
  char delimiter() const { return csv_.delimiter(); }
  int64_t line() const { return csv_.line(); }
  /// "t.csv:17", for messages about the row.
  std::string place() const;
  /// The file, for messages.
  const std::string& file() const { return csv_.name(); }

  /// The selected columns: those of columns=, in that order, or all, except those of without=.
  const std::vector<CsvColumn>& columns() const { return columns_; }
  /// The names of all columns of the file.
  const std::vector<std::string>& all_names() const { return names_; }
  bool has_header() const { return format_.has_header; }
  TextEncoding encoding() const { return format_.encoding; }
  /// missing=.
  Missing missing() const { return missing_; }
  bool refuses_missing() const { return missing_ == Missing::refuse; }
  /// "t.csv:1", where the columns are named.
  const std::string& header_place() const { return header_place_; }

 private:
  void read_names();
  void choose_columns(const SourceName& name);

  Missing missing_;
  CsvFormat format_;
  CsvReader csv_;
  std::vector<std::string> names_;
  std::vector<CsvColumn> columns_;
  std::string header_place_;
  bool is_row_waiting_ = false;  // the first one, if it is not a header
};

}  // namespace segre
