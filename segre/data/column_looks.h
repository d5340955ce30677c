#pragma once

#include <string>
#include <vector>

#include "segre/data/label_dictionary.h"
#include "segre/data/source_name.h"

namespace segre {

/// What the values of a column look like. Only labels are taken without a word of the user.
enum class Looks { labels, identifier, measurement, date };

/// The different values of a column and how they came to be.
struct ColumnValues {
  const LabelDictionary& dictionary;  ///< kMissingName is among them where values are missing
  bool has_missing = false;
  bool is_full = false;  ///< there are more than a variable may have labels, and the dictionary lacks them
  int64_t n_values = 0;  ///< rows looked at whose value is not missing
  int64_t n_rows = 0;    ///< all rows
  int64_t n_labels() const { return dictionary.size() - (has_missing ? 1 : 0); }
};

/// A column that does not look like labels.
struct RefusedColumn {
  std::string name;
  Looks looks = Looks::identifier;
  std::string found;  ///< "101 different values in 200 rows"
};

/// Judges a column; `max_labels` is what the user says labels may be, 0: nothing. More different values than half of
/// the rows (and than 50) are identifiers, or, if they are dates or numbers that are not all different whole ones,
/// measurements. Numbers with fractions are measurements, and dates dates, when there are more than 20.
RefusedColumn judge_column(const std::string& name, const ColumnValues& values, int64_t max_labels);

/// InputError about all refused columns at once, with the names that would read the table: numbers and dates in bins,
/// without the columns, or with as many labels as `most_values`, which the largest column has (0: too many for that).
[[noreturn]] void refuse_columns(const SourceName& name, const std::vector<RefusedColumn>& refused,
                                 int64_t most_values);

}  // namespace segre
