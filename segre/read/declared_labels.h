#pragma once  // internal

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "segre/data/label_dictionary.h"
#include "segre/data/source_name.h"
#include "segre/io/csv_reader.h"

namespace segre {

/// The labels that the user declares for a table, whether or not they occur in it: `labels=0|1` for all columns,
/// `dictionary=FILE` (a CSV file with the columns `column` and `label`, one row per label) for the columns it names,
/// which overrides labels=, as does declare(). Their order does not matter: they are sorted like labels found in a
/// file. Any text that means a missing value declares the missing label.
class DeclaredLabels {
 public:
  /// Declares nothing.
  DeclaredLabels() = default;
  /// Reads both options, the dictionary in the encoding of the table. InputError names the option, or file and line of
  /// the dictionary, if a label is declared twice or, with `refuse_missing`, is a missing value.
  DeclaredLabels(const SourceName& name, TextEncoding encoding, bool refuse_missing);
  /// Declares the labels of a column in memory; equal texts are one label. InputError, starting with `table`, if there
  /// are too many or, with `refuse_missing`, one is a missing value.
  void declare(const std::string& table, const std::string& column, const std::vector<std::string>& texts,
               bool refuse_missing);

  /// The labels declared for a column; nullopt: those found.
  std::optional<LabelDictionary> of(const std::string& column) const;
  /// What declares the labels of a column, an option or its categories, for messages.
  std::string option_for(const std::string& column) const;
  /// Whether the labels are declared for this very column, not for all.
  bool has_own(const std::string& column) const { return by_column_.contains(column); }
  /// InputError names the line of the dictionary if its column is not in the table `file`.
  void require_columns(const std::vector<std::string>& columns, const std::string& file) const;

 private:
  struct Entry {
    LabelDictionary labels;
    std::string declared_by;
    int64_t line = 0;  // of the dictionary, the first one for this column
  };
  void read_labels(const SourceName& name, bool refuse_missing);
  void read_dictionary(const std::string& file, TextEncoding encoding, bool refuse_missing);

  std::optional<LabelDictionary> everywhere_;
  std::string file_;
  std::map<std::string, Entry> by_column_;
};

/// InputError about a value that the option does not declare for its column.
[[noreturn]] void refuse_undeclared(const std::string& place, const std::string& column, std::string_view text,
                                    const std::string& option, const LabelDictionary& declared);

}  // namespace segre
