#pragma once  // internal

#include <string>
#include <string_view>
#include <vector>

#include "segre/data/origin.h"
#include "segre/data/source_name.h"
#include "segre/read/declared_labels.h"

namespace segre {

/// A column selected by the options of a table, and its field in a row.
struct TableColumn {
  std::string name;
  int64_t field = 0;
};

/// What was found for the texts of a column, kept by TableRows::code: a text that has a code is looked up once.
class FoundByCode {
 public:
  static constexpr int32_t kNothing = -1;

  /// What was kept, or kNothing.
  int32_t find(int32_t code) const {
    return code >= 0 && code < static_cast<int64_t>(found_.size()) ? found_[code] : kNothing;
  }
  /// Keeps a number >= 0; without a code it does nothing.
  void keep(int32_t code, int32_t number) {
    if (code < 0) return;
    if (code >= static_cast<int64_t>(found_.size())) found_.resize(code + int64_t{1}, kNothing);
    found_[code] = number;
  }

 private:
  std::vector<int32_t> found_;
};

/// The rows of a table, one by one, wherever they come from: what the rules of `csv:` apply to. The options that select
/// and declare are read here: columns=, without=, missing=, labels=, dictionary=.
class TableRows {
 public:
  /// What to do with missing values.
  enum class Missing { label, unknown, refuse };

  virtual ~TableRows() = default;
  TableRows(const TableRows&) = delete;
  TableRows& operator=(const TableRows&) = delete;

  /// Advances to the next row of values; false at the end of the table.
  virtual bool next() = 0;
  /// A field of the row as it is, whether or not it was selected.
  virtual std::string_view field(int64_t i) const = 0;
  /// A number that stands for the field's text in its column, for FoundByCode; -1: there is none.
  virtual int32_t code(int64_t /*i*/) const { return -1; }
  /// The number of the row, as origin() takes it.
  virtual int64_t line() const = 0;
  /// Where the items with these numbers were read.
  virtual Origin origin(ItemNumbers numbers) const = 0;

  /// A value of the row; if it is missing, kMissingName, or InputError with missing=refuse.
  std::string_view value(const TableColumn& column) const;
  /// What such a value is of a field that is missing: kMissingName, or InputError.
  std::string_view missing_value(const TableColumn& column) const;
  /// "t.csv:17", for messages about the row.
  std::string place() const;
  /// The file, for messages.
  const std::string& file() const { return file_; }

  /// The selected columns: those of columns=, in that order, or all, except those of without=.
  const std::vector<TableColumn>& columns() const { return columns_; }
  /// The names of all columns of the table.
  const std::vector<std::string>& all_names() const { return names_; }
  /// The labels that the user declares.
  const DeclaredLabels& declared() const { return declared_; }
  /// missing=.
  Missing missing() const { return missing_; }
  bool refuses_missing() const { return missing_ == Missing::refuse; }
  /// Whether a line of the file names the columns; if that is a mistake, an item is lost.
  bool has_header() const { return header_.is_line; }
  /// "t.csv:1", where the columns are named.
  const std::string& header_place() const { return header_.place; }

 protected:
  struct Header {
    std::string place;
    bool is_line = false;
  };

  /// `file`: the table, for messages.
  TableRows(const SourceName& name, std::string file);
  /// To be called once, with the names of all columns: selects some of them and reads the declared labels. InputError
  /// for a column named twice, and for a column of columns=, without= or dictionary= that the table does not have.
  void set_columns(const SourceName& name, std::vector<std::string> names, Header header);
  /// Declares the labels of a column besides those of the options: see DeclaredLabels::declare.
  void declare(const std::string& column, const std::vector<std::string>& texts);

 private:
  void choose_columns(const SourceName& name);

  std::string file_;
  Missing missing_;
  Header header_;
  std::vector<std::string> names_;
  std::vector<TableColumn> columns_;
  DeclaredLabels declared_;
};

}  // namespace segre
