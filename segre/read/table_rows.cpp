#include "segre/read/table_rows.h"

#include <set>
#include <unordered_map>

#include "segre/core/error.h"
#include "segre/core/text.h"
#include "segre/data/label_dictionary.h"
#include "segre/read/readers.h"

namespace segre {
namespace {

TableRows::Missing missing_of(const SourceName& name) {
  const std::string given = name.choice("missing", "label", {"label", "unknown", "refuse"});
  return given == "label"     ? TableRows::Missing::label
         : given == "unknown" ? TableRows::Missing::unknown
                              : TableRows::Missing::refuse;
}

}  // namespace

TableRows::TableRows(const SourceName& name, std::string file) : file_(std::move(file)), missing_(missing_of(name)) {}

void TableRows::set_columns(const SourceName& name, std::vector<std::string> names, Header header) {
  names_ = std::move(names);
  header_ = std::move(header);
  choose_columns(name);
  declared_ = DeclaredLabels(name, encoding_of(name), refuses_missing());
  declared_.require_columns(names_, file_);
}

void TableRows::choose_columns(const SourceName& name) {
  std::unordered_map<std::string, int64_t> fields;  // a table may have a million columns
  for (size_t i = 0; i < names_.size(); ++i)
    if (!fields.emplace(names_[i], static_cast<int64_t>(i)).second)
      fail_input(header_.place, ": column '", printable(names_[i]), "' is named twice",
                 header_.is_line ? "; if the file has no header, read it with header=0" : "");
  const auto find = [&](const std::string& wanted) {
    const auto at = fields.find(wanted);
    if (at == fields.end())
      fail_input(file(), ": has no column '", wanted, "'; the nearest is ", printable(nearest(wanted, names_)));
    return at->second;
  };
  const auto unwanted = name.words("without");
  for (const std::string& column : unwanted) find(column);
  const std::set<std::string> without(unwanted.begin(), unwanted.end());
  std::set<std::string> taken;
  for (const std::string& wanted : name.has("columns") ? name.words("columns") : names_) {
    if (without.contains(wanted)) continue;
    if (!taken.insert(wanted).second) name.fail_option("columns", "each column once");
    columns_.push_back({wanted, find(wanted)});
  }
  if (columns_.empty()) fail_input("data source ", name.text(), ": no column is left");
}

void TableRows::declare(const std::string& column, const std::vector<std::string>& texts) {
  declared_.declare(file_, column, texts, refuses_missing());
}

std::string_view TableRows::value(const TableColumn& column) const {
  const std::string_view text = field(column.field);
  return is_missing(text) ? missing_value(column) : text;
}

std::string_view TableRows::missing_value(const TableColumn& column) const {
  if (refuses_missing())
    fail_input(place(), ": column ", printable(column.name), " is '", field(column.field),
               "', a missing value; a label was expected (missing=refuse)");
  return kMissingName;
}

std::string TableRows::place() const {
  ItemNumbers row;
  row.add(line());
  return origin(std::move(row)).place(0);
}

}  // namespace segre
