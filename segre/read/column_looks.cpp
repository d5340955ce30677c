#include "segre/read/column_looks.h"

#include <algorithm>

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
// The maximum number of columns that a message describes.
constexpr size_t kMostDescribed = 8;

enum class Kind { text, whole, fractions, dates };

// 007, -01: codes rather than numbers.
bool has_leading_zero(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

Kind kind_of(const LabelDictionary& dictionary) {
  ValueScale scale;
  bool is_whole = true;
  for (const std::string& text : dictionary.names()) {
    if (text == kMissingName) continue;
    if (has_leading_zero(text) || !scale.add(text)) return Kind::text;
    is_whole = is_whole && is_integer(text);
  }
  return scale.is_date() ? Kind::dates : is_whole ? Kind::whole : Kind::fractions;
}

// Whether different integers number the rows.
bool count_rows(const LabelDictionary& dictionary) {
  std::vector<double> values;
  for (const std::string& text : dictionary.names())
    if (const auto value = parse_number(text)) values.push_back(*value);
  if (std::is_sorted(values.begin(), values.end())) return true;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return *most - *least < 2.0 * static_cast<double>(values.size());
}

const char* called(Kind kind) {
  return kind == Kind::dates ? "dates" : kind == Kind::fractions ? "numbers with fractions" : "values";
}

// The words of an option, if any, with more appended.
std::vector<std::string> longer(const SourceName& name, const std::string& key, const std::vector<std::string>& more) {
  auto all = name.words(key);
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::string listed(std::vector<std::string> words) {
  for (std::string& word : words) word = escaped(word);
  return join(words, ",");
}

std::string in_quotes(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
  return out + '"';
}

// An option that a message advises to give, in both styles.
struct Advised {
  std::string key;
  std::string in_name;
  std::string in_python;
};

Advised without(const SourceName& name, const std::vector<std::string>& columns) {
  auto words = longer(name, "without", columns);
  const std::string in_name = listed(words);
  for (std::string& word : words) word = in_quotes(word);
  return {"without", in_name, concat("[", join(words, ", "), "]")};
}

Advised bins(const SourceName& name, const std::vector<std::string>& columns) {
  return {"bins", listed(longer(name, "bins", columns)), in_quotes(listed(longer(name, "bins", {"auto"})))};
}

Advised max_labels(int64_t most) { return {"max_labels", std::to_string(most), std::to_string(most)}; }

std::string written(SourceName name, OptionStyle style, const std::vector<Advised>& options) {
  std::vector<std::string> arguments;
  for (const Advised& option : options) {
    name = name.with(option.key, option.in_name);
    arguments.push_back(concat(option.key, "=", option.in_python));
  }
  return style == OptionStyle::python ? join(arguments, " and ") : concat("'", name.text(), "'");
}

std::string describe(const std::vector<RefusedColumn>& refused) {
  std::vector<std::string> texts;
  for (const RefusedColumn& column : refused) {
    if (texts.size() == kMostDescribed) {
      texts.push_back(concat("and ", refused.size() - kMostDescribed, " more columns likewise"));
      break;
    }
    texts.push_back(concat("column ", printable(column.name), " has ", column.found));
  }
  return join(texts, ", ");
}

}  // namespace

bool are_values(const LabelDictionary& dictionary) { return kind_of(dictionary) != Kind::text; }

RefusedColumn judge_column(const std::string& name, const ColumnValues& values, int64_t max_labels) {
  RefusedColumn judged{name, Looks::labels, ""};
  const int64_t distinct = values.n_labels();
  const int64_t limit = max_labels > 0 ? max_labels : std::max(kFewValues, values.n_rows / kRowsPerValue);
  const bool is_crowded = values.is_full || distinct > limit;
  if (!is_crowded && (max_labels > 0 || distinct <= kFewNumbers)) return judged;
  const Kind kind = kind_of(values.dictionary);
  const bool is_measured = kind == Kind::fractions || kind == Kind::dates;
  if (!is_crowded && !is_measured) return judged;
  const bool is_identifier = kind == Kind::text || (kind == Kind::whole && distinct == values.n_values &&
                                                    count_rows(values.dictionary));
  judged.looks = is_identifier ? Looks::identifier : kind == Kind::dates ? Looks::date : Looks::measurement;
  if (values.is_full) {
    judged.found = concat("more than ", kMaxLabels, " different ", called(kind));
  } else {
    judged.found = concat(distinct, " different ", called(kind));
  }
  if (is_crowded && max_labels == 0) judged.found += concat(" in ", values.n_rows, " rows");
  return judged;
}

void refuse_columns(const std::string& table, const SourceName& name, OptionStyle style,
                    const std::vector<RefusedColumn>& refused, int64_t most_values) {
  std::vector<std::string> all;
  std::vector<std::string> identifiers;
  std::vector<std::string> binned;
  for (const RefusedColumn& column : refused) {
    all.push_back(column.name);
    if (column.looks == Looks::identifier) {
      identifiers.push_back(column.name);
    } else {
      binned.push_back(concat(column.name, ":", BinsOption::kAutoBins));
    }
  }
  std::string ways;
  if (!binned.empty()) {
    std::vector<Advised> options;
    if (!identifiers.empty()) options.push_back(without(name, identifiers));
    options.push_back(bins(name, binned));
    ways = concat("bin numbers and dates with ", written(name, style, options), ", ");
  }
  ways += concat("drop ", all.size() == 1 ? "it" : "them", " with ", written(name, style, {without(name, all)}));
  if (most_values > 0)
    ways += concat(", or keep all values as labels with ", written(name, style, {max_labels(most_values)}));
  fail_input(table, ": ", describe(refused), ", too many to be labels; ", ways);
}

}  // namespace segre
