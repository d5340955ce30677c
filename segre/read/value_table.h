#pragma once  // internal

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "segre/data/label_dictionary.h"
#include "segre/io/csv.h"
#include "segre/read/table_rows.h"

namespace segre {

/// A column of a table by what its cells mean: numbers (dates in seconds since 1970), or labels.
struct ValueColumn {
  std::string name;
  std::optional<Bins> numbers{};  ///< how they are written; unset: labels
  LabelDictionary labels{};       ///< in the order of their numbers; empty if the column holds numbers

  bool is_number() const { return numbers.has_value(); }
  /// A value as people write it.
  std::string text_of(double value) const;
};

/// Reads tables with the same columns, whoever wrote them, as values: [N, C] float64. A number is itself, NaN if it is
/// missing, whatever levels or bins a model has for it. A label is the number of its text, the same in all tables that
/// one reader reads; missing values are a label, too. 5 and 5.0 are the same label.
class ValueReader {
 public:
  /// The columns of a table's space. Numbers and dates are those with bins or levels, unless they are few values.
  explicit ValueReader(const Space& space);

  const std::vector<ValueColumn>& columns() const { return columns_; }
  /// The next tables will have new texts; what is known stays.
  std::vector<ValueColumn> take_columns() { return std::move(columns_); }

  /// All rows. InputError, starting with `what`, if a column is missing; with the place of the row for a text where a
  /// number was expected.
  torch::Tensor read(TableRows& rows, const std::string& what);
  /// A table by its name, `csv:FILE`.
  torch::Tensor read_csv(const SourceName& name, const std::string& what);
  /// Rows of labels [N, n] of a space with these columns, as segre writes them into files.
  torch::Tensor read_labels(const Space& space, const torch::Tensor& labels, const BinValues& values);

 private:
  double value_of(size_t column, std::string_view text, const TableRows& rows);
  double label_of(size_t column, std::string_view text);

  std::vector<ValueColumn> columns_;
  std::vector<std::unordered_map<double, int32_t>> by_number_;  // labels of each column that are numbers
};

}  // namespace segre
