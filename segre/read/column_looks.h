#pragma once  // internal

#include <string>
#include <vector>

#include "segre/data/label_dictionary.h"
#include "segre/data/source_name.h"

namespace segre {

/// What the values of a column look like.
enum class Looks { labels, identifier, measurement, date };

/// The different values of a column and how they were found.
struct ColumnValues {
  const LabelDictionary& dictionary;  ///< includes kMissingName if values are missing
  bool has_missing = false;
  bool is_full = false;  ///< more values than a variable may have labels; the dictionary lacks the rest
  int64_t n_values = 0;  ///< rows read with a value that is not missing
  int64_t n_rows = 0;    ///< all rows
  int64_t n_labels() const { return dictionary.size() - (has_missing ? 1 : 0); }
};

/// A column that does not look like labels; identifiers are left out.
struct RefusedColumn {
  std::string name;
  Looks looks = Looks::identifier;
  std::string found;  ///< "101 different values in 200 rows"
};

/// Judges a column; `max_labels` is the user's limit, 0: none. If there are more different values than 50 and than half
/// of the rows, texts and integers that count the rows are identifiers, other numbers measurements. More than 20
/// different numbers with fractions are measurements, more than 20 different dates are dates.
/// Integers count rows if all are different and either ascend in the order of the rows or leave out fewer than half.
RefusedColumn judge_column(const std::string& name, const ColumnValues& values, int64_t max_labels);

/// Whether the texts other than kMissingName are all numbers, or all dates. A number with a leading zero, such as 007,
/// is a text.
bool are_values(const LabelDictionary& dictionary);

/// How the user gives options, and so how advice writes them: in the name of a source, 'csv:t.csv?without=id', or as
/// arguments of a Python function, without=["id"].
enum class OptionStyle { source_name, python };

/// InputError about all refused columns of `table` at once, with options that would work, added to those of `name`:
/// numbers and dates in bins, without the columns, or with up to `most_values` labels, as many as the largest column
/// has values (0: too many).
[[noreturn]] void refuse_columns(const std::string& table, const SourceName& name, OptionStyle style,
                                 const std::vector<RefusedColumn>& refused, int64_t most_values);

}  // namespace segre
