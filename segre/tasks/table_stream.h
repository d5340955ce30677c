#pragma once  // internal

#include "segre/read/csv_rows.h"
#include "segre/tasks/item_stream.h"

namespace segre {

/// The rows of `csv:FILE` as items of a model, read as they are needed: missing cells are kUnknown.
class TableStream final : public ItemStream {
 public:
  /// As CsvItems, with columns that the table lacks unknown, and InputError for options that csv: does not have.
  /// `keeps_fields`: fields() and the items' texts are wanted; `quietly`: the column that may be lacking without a
  /// note.
  TableStream(const SourceName& name, const Space& space, const std::string& what, bool keeps_fields,
              const std::string& quietly = "");

  ItemBatch next(int64_t most) override;

  /// The fields of the batch's rows as they are in the file, whether or not the model has them.
  const std::vector<std::vector<std::string>>& fields() const { return fields_; }
  /// The table: its columns, and how it is written.
  const CsvRows& table() const { return items_.rows(); }
  /// The field of each variable; -1 if the table does not have it.
  int64_t field(int64_t variable) const { return items_.field(variable); }
  bool lacks(const Column& column) const { return field(column.first) < 0; }

 private:
  std::vector<std::string> texts_of_row() const;

  int64_t n_variables_;
  bool has_bins_ = false;
  int64_t limit_;
  bool keeps_fields_;
  CsvItems items_;
  std::vector<std::vector<std::string>> fields_;
  int64_t n_read_ = 0;
};

}  // namespace segre
