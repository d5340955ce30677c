#include "segre/read/declared_labels.h"

#include <algorithm>

#include "segre/core/error.h"
#include "segre/core/text.h"
#include "segre/data/label_dictionary.h"
#include "segre/io/csv.h"
#include "segre/space/space.h"

namespace segre {
namespace {

// A ? that is declared is a missing value.
bool means_missing(const std::string& text) { return is_missing(text) || text == "?"; }

// Adds a label; false if it was already declared.
bool add_label(LabelDictionary& labels, const std::string& text) {
  const int64_t before = labels.size();
  labels.number(means_missing(text) ? kMissingName : text);
  return labels.size() > before;
}

}  // namespace

DeclaredLabels::DeclaredLabels(const SourceName& name, TextEncoding encoding, bool refuse_missing) {
  if (name.has("labels")) read_labels(name, refuse_missing);
  if (name.has("dictionary")) read_dictionary(name.word("dictionary", ""), encoding, refuse_missing);
}

void DeclaredLabels::read_labels(const SourceName& name, bool refuse_missing) {
  LabelDictionary labels;
  for (const std::string& text : name.words("labels", '|')) {
    if (refuse_missing && means_missing(text))
      name.fail_option("labels", concat("labels without '", text, "', which missing=refuse refuses,"));
    if (!add_label(labels, text)) name.fail_option("labels", "each label once");
  }
  if (labels.size() > kMaxLabels) name.fail_option("labels", concat("at most ", kMaxLabels, " labels"));
  everywhere_ = std::move(labels);
}

void DeclaredLabels::read_dictionary(const std::string& file, TextEncoding encoding, bool refuse_missing) {
  file_ = file;
  const auto rows = read_csv(file, encoding);
  if (rows.front().fields != std::vector<std::string>{"column", "label"})
    fail_input(file, ":", rows.front().line, ": header is '", printable(join(rows.front().fields, ",")),
               "', column,label was expected in a dictionary of labels");
  for (size_t r = 1; r < rows.size(); ++r) {
    const std::string& column = rows[r].fields[0];
    const std::string& text = rows[r].fields[1];
    const auto refuse = [&](const auto&... what) {
      fail_input(file, ":", rows[r].line, ": column ", printable(column), ": label '", printable(text), "' ", what...);
    };
    if (refuse_missing && means_missing(text)) refuse("is a missing value, a label was expected (missing=refuse)");
    Entry& entry = by_column_.try_emplace(column, Entry{{}, "dictionary=" + file, rows[r].line}).first->second;
    if (!add_label(entry.labels, text)) refuse("is declared twice");
    if (entry.labels.size() > kMaxLabels) refuse("exceeds the ", kMaxLabels, " labels that a column may have");
  }
  if (by_column_.empty()) fail_input(file, ": has a header but no labels");
}

void DeclaredLabels::declare(const std::string& table, const std::string& column, const std::vector<std::string>& texts,
                             bool refuse_missing) {
  Entry entry{{}, "its categories"};
  for (const std::string& text : texts) {
    if (refuse_missing && means_missing(text))
      fail_input(table, ": column ", printable(column), " has the category '", text,
                 "', a missing value; a label was expected (missing=refuse)");
    add_label(entry.labels, text);
  }
  if (entry.labels.size() > kMaxLabels)
    fail_input(table, ": column ", printable(column), " has ", entry.labels.size(), " categories, more than the ",
               kMaxLabels, " labels that a column may have");
  by_column_.insert_or_assign(column, std::move(entry));
}

std::optional<LabelDictionary> DeclaredLabels::of(const std::string& column) const {
  const auto at = by_column_.find(column);
  return at != by_column_.end() ? at->second.labels : everywhere_;
}

std::string DeclaredLabels::option_for(const std::string& column) const {
  const auto at = by_column_.find(column);
  return at != by_column_.end() ? at->second.declared_by : "labels=";
}

void DeclaredLabels::require_columns(const std::vector<std::string>& columns, const std::string& file) const {
  for (const auto& [column, entry] : by_column_)
    if (std::find(columns.begin(), columns.end(), column) == columns.end())
      fail_input(file_, ":", entry.line, ": column '", printable(column), "' is not in ", file, "; the nearest is ",
                 printable(nearest(column, columns)));
}

void refuse_undeclared(const std::string& place, const std::string& column, std::string_view text,
                       const std::string& option, const LabelDictionary& declared) {
  fail_input(place, ": column ", printable(column), " has the label '", printable(text), "', which is not declared (",
             option, "); it has ", list_labels(declared.names()));
}

}  // namespace segre
