#pragma once  // internal

#include <optional>

#include "segre/data/dataset.h"
#include "segre/data/label_finder.h"
#include "segre/read/table_rows.h"

namespace segre {

/// The rows of a table as items of a model, one by one: columns and labels are matched with those of the space by name.
/// See read_csv_table_for.
class TableItems {
 public:
  /// `may_lack`: a column that the table need not have; its labels are kUnknown then.
  TableItems(const SourceName& name, TableRows& rows, const Space& space, const std::string& what, Unknowns unknowns,
             const std::string& may_lack = "");

  /// Goes to the next row to be kept and sets its labels; false at the end of the table.
  bool next(std::vector<int32_t>& labels);
  /// Notes how many rows were left out and how many values are outside the bins; InputError if no rows are left.
  void finish() const;

  /// The number of the row in the table, counted from 1, whether or not rows before it were left out.
  int64_t row() const { return n_kept_ + n_skipped_; }
  /// The field of each variable in the table's rows; -1 if the table does not have it.
  int64_t field(int64_t variable) const { return fields_[variable]; }
  Unknowns unknowns() const { return unknowns_; }
  /// The numbers and dates of the rows so far that lie outside the bins, kMostOutside at most. They have the label of
  /// the first or last bin like any other value there, but training never saw their like.
  std::vector<OutsideValue> take_outside() { return std::move(outside_); }
  static constexpr int64_t kMostOutside = 1'000'000;

 private:
  enum class Unseen { refuse, skip, missing };
  // A column of the model and where its values are.
  struct Column {
    TableColumn at;
    segre::Column of;
    LabelFinder labels;
    std::optional<LabelDictionary> declared;
    FoundByCode found{};
  };
  static Unseen unseen_of(const SourceName& name);
  bool read_row(std::vector<int32_t>& labels);
  std::string_view text_in(const Column& column) const;
  void set(const Column& column, int64_t found, std::vector<int32_t>& labels) const;
  bool is_outside(int64_t variable, std::string_view text) const;
  void keep_outside();
  [[noreturn]] void refuse(int64_t variable, std::string_view text) const;

  Space space_;
  Unseen unseen_;
  TableRows& rows_;
  Unknowns unknowns_;
  std::vector<Column> columns_;
  std::vector<int64_t> fields_;  // by variable
  int64_t n_kept_ = 0;
  int64_t n_skipped_ = 0;
  std::string first_skipped_;
  std::vector<const Column*> outside_in_row_;
  std::vector<OutsideValue> outside_;
  int64_t n_outside_ = 0;
  std::vector<std::string> first_outside_;  // in words
};

/// read_csv_table_for for any rows.
Dataset read_table_for(const SourceName& name, TableRows& rows, const Space& space, const std::string& what,
                       int64_t most, Unknowns unknowns);

}  // namespace segre
