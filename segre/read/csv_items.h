#pragma once  // internal

#include "segre/read/csv_rows.h"
#include "segre/read/table_items.h"

namespace segre {

/// The rows of `csv:FILE` as TableItems, for those who need the fields of each row, too.
class CsvItems {
 public:
  /// As TableItems; opens the file.
  CsvItems(const SourceName& name, const Space& space, const std::string& what, Unknowns unknowns,
           const std::string& may_lack = "")
      : rows_(name), items_(name, rows_, space, what, unknowns, may_lack) {}

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
