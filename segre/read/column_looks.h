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

/// What a column looks like, and what shows it.
struct JudgedColumn {
  std::string name;
  Looks looks = Looks::identifier;
  std::string found;  ///< "101 different values in 200 rows"
};

/// Judges a column; `max_labels` is the user's limit, 0: none. If there are more different values than 50 and than half
/// of the rows, texts and integers that count the rows are identifiers, other numbers measurements. More than 20
/// different numbers with fractions are measurements, more than 20 different dates are dates.
/// Integers count rows if all are different and either ascend in the order of the rows or leave out fewer than half.
/// Where every one of 20 rows or more has a value of its own, texts and integers that count without a gap are
/// identifiers, however few.
JudgedColumn judge_column(const std::string& name, const ColumnValues& values, int64_t max_labels);

/// Whether the texts other than kMissingName are all numbers, or all dates, times or durations of one pattern. A
/// code, such as 007, is a text; so are dates that could be read in two ways.
bool are_values(const LabelDictionary& dictionary);
/// Whether they are all dates, but such as 03/05/2024: every one of them could be read in two ways.
bool are_ambiguous_dates(const LabelDictionary& dictionary);

/// How the user gives options, and so how advice writes them: in the name of a source, 'csv:t.csv?without=id', or as
/// arguments of a Python function, without=["id"].
enum class OptionStyle { source_name, python };

/// Why nothing of `table` can be learned, all of whose columns are left out, with the option that keeps them: up to
/// `most_values` labels added to the options of `name`, as many as the largest column has values (0: too many).
std::string why_nothing_is_left(const std::string& table, const SourceName& name, OptionStyle style,
                                const std::vector<JudgedColumn>& left_out, int64_t most_values);

}  // namespace segre
