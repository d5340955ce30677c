#include "segre/read/column_looks.h"

#include <algorithm>
#include <cmath>

#include "segre/core/error.h"
#include "segre/core/text.h"
#include "segre/core/utf8.h"
#include "segre/data/label_dictionary.h"
#include "segre/read/column_bins.h"
#include "segre/space/space.h"

namespace segre {
namespace {

// A column with more different values than both limits holds identifiers, unless max_labels allows them.
constexpr int64_t kFewValues = 50;
constexpr int64_t kRowsPerValue = 2;
// More different fractions or dates than a coarse scale has steps are measurements.
constexpr int64_t kFewNumbers = 20;
// In so many rows, values do not all differ by chance.
constexpr int64_t kFewestRows = 20;
// The maximum number of columns that a message describes.
constexpr size_t kMostDescribed = 8;

enum class Kind { text, whole, fractions, dates };

ValueScale scale_of(const LabelDictionary& dictionary, Kind& kind) {
  ValueScale scale;
  kind = Kind::whole;
  for (const std::string& text : dictionary.names()) {
    if (text == kMissingName) continue;
    if (is_code(text) || !scale.add(text)) {
      kind = Kind::text;
      return scale;
    }
    if (!is_integer(text)) kind = Kind::fractions;
  }
  if (scale.is_date()) kind = scale.is_ambiguous() ? Kind::text : Kind::dates;
  return scale;
}

Kind kind_of(const LabelDictionary& dictionary) {
  Kind kind = Kind::text;
  scale_of(dictionary, kind);
  return kind;
}

// Whether different numbers are integers that number the rows; strictly: without a gap.
bool count_rows(const LabelDictionary& dictionary, bool strictly) {
  std::vector<double> values;
  for (const std::string& text : dictionary.names())
    if (const auto value = parse_number(text)) values.push_back(*value);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const double range = *most - *least + 1.0;
  const auto n = static_cast<double>(values.size());
  if (strictly)
    return range == n && std::all_of(values.begin(), values.end(), [](double v) { return v == std::floor(v); });
  return std::is_sorted(values.begin(), values.end()) || range <= 2.0 * n;
}

const char* called(Kind kind) {
  return kind == Kind::dates ? "dates" : kind == Kind::fractions ? "numbers with fractions" : "values";
}

std::string describe(const std::vector<JudgedColumn>& left_out) {
  std::vector<std::string> texts;
  for (const JudgedColumn& column : left_out) {
    if (texts.size() == kMostDescribed) {
      texts.push_back(concat("and ", left_out.size() - kMostDescribed, " more columns likewise"));
      break;
    }
    texts.push_back(concat("column ", printable(column.name), " has ", column.found));
  }
  return join(texts, ", ");
}

}  // namespace

bool are_values(const LabelDictionary& dictionary) { return kind_of(dictionary) != Kind::text; }

bool are_ambiguous_dates(const LabelDictionary& dictionary) {
  Kind kind = Kind::text;
  const ValueScale scale = scale_of(dictionary, kind);
  return kind == Kind::text && scale.is_ambiguous() && dictionary.size() > 0 &&
         std::all_of(dictionary.names().begin(), dictionary.names().end(), [&](const std::string& text) {
           return text == kMissingName || ValueScale(scale).add(text).has_value();
         });
}

JudgedColumn judge_column(const std::string& name, const ColumnValues& values, int64_t max_labels) {
  JudgedColumn judged{name, Looks::labels, ""};
  const int64_t distinct = values.n_labels();
  const int64_t limit = max_labels > 0 ? max_labels : std::max(kFewValues, values.n_rows / kRowsPerValue);
  const bool is_crowded = values.is_full || distinct > limit;
  const bool all_differ = distinct == values.n_values;
  const bool are_own = all_differ && distinct >= kFewestRows;
  if (!is_crowded && (max_labels > 0 || (distinct <= kFewNumbers && !are_own))) return judged;
  const Kind kind = kind_of(values.dictionary);
  const bool is_measured = (kind == Kind::fractions || kind == Kind::dates) && (is_crowded || distinct > kFewNumbers);
  const bool is_number =
      kind == Kind::whole || kind == Kind::fractions;  // pandas writes 1.0, 2.0 where some are missing
  const bool is_loose = is_crowded && kind == Kind::whole;
  const bool is_identifier =
      kind == Kind::text ? is_crowded || are_own : is_number && all_differ && count_rows(values.dictionary, !is_loose);
  if (!is_crowded && !is_measured && !is_identifier) return judged;
  judged.looks = is_identifier ? Looks::identifier : kind == Kind::dates ? Looks::date : Looks::measurement;
  if (values.is_full) {
    judged.found = concat("more than ", kMaxLabels, " different ", called(kind));
  } else {
    judged.found = concat(distinct, " different ", called(kind));
  }
  if (max_labels == 0) judged.found += concat(" in ", values.n_rows, " rows");
  return judged;
}

std::string why_nothing_is_left(const std::string& table, const SourceName& name, OptionStyle style,
                                const std::vector<JudgedColumn>& left_out, int64_t most_values) {
  std::string text = concat(table, ": no column is left to learn: ", describe(left_out));
  if (most_values == 0) return text;
  const std::string number = std::to_string(most_values);
  return concat(
      text, "; keep all values as labels with ",
      style == OptionStyle::python ? "max_labels=" + number : concat("'", name.with("max_labels", number).text(), "'"));
}

}  // namespace segre
