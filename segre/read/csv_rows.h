#pragma once  // internal

#include "segre/io/csv_reader.h"
#include "segre/read/table_items.h"
#include "segre/read/table_rows.h"

namespace segre {

/// The rows of `csv:FILE`, read as the source's options say: delimiter=, encoding=, header=, and those of TableRows. A
/// delimiter that is not given is detected, with a note unless it is the comma.
class CsvRows final : public TableRows {
 public:
  /// Opens the file and reads its header. InputError for an empty file, and as in TableRows::set_columns.
  explicit CsvRows(const SourceName& name);

  bool next() override;
  std::string_view field(int64_t i) const override { return csv_.field(i); }
  int64_t line() const override { return csv_.line(); }
  Origin origin(ItemNumbers numbers) const override { return Origin::lines(file(), std::move(numbers)); }

  /// All fields of the row, whether or not they were selected.
  int64_t n_fields() const { return csv_.n_fields(); }
  char delimiter() const { return csv_.delimiter(); }
  /// What ends a line of the file.
  const char* line_end() const { return csv_.ends_in_crlf() ? "\r\n" : "\n"; }

 private:
  CsvFormat format_;
  CsvReader csv_;
  bool is_row_waiting_ = false;  // the first one, if it is not a header
};

/// The rows of `csv:FILE` as TableItems, for those who need the fields of each row, too.
class CsvItems {
 public:
  /// As TableItems; opens the file.
  CsvItems(const SourceName& name, const Space& space, const std::string& what, Unknowns unknowns,
           Lacking lacking = Lacking::refuse, const std::string& quietly = "")
      : rows_(name), items_(name, rows_, space, what, unknowns, lacking, quietly) {}

  bool next(std::vector<int32_t>& labels) { return items_.next(labels); }
  void finish() const { items_.finish(); }
  int64_t row() const { return items_.row(); }
  int64_t field(int64_t variable) const { return items_.field(variable); }
  Unknowns unknowns() const { return items_.unknowns(); }
  /// The row itself.
  const CsvRows& rows() const { return rows_; }

 private:
  CsvRows rows_;
  TableItems items_;  // reads rows_
};

}  // namespace segre
