#include <algorithm>
#include <optional>
#include <unordered_map>

#include "segre/core/error.h"
#include "segre/core/log.h"
#include "segre/core/text.h"
#include "segre/data/label_finder.h"
#include "segre/data/label_store.h"
#include "segre/data/list_labels.h"
#include "segre/read/bins_option.h"
#include "segre/read/csv_rows.h"
#include "segre/read/declared_labels.h"
#include "segre/read/readers.h"

namespace segre {
namespace {

enum class Unseen { refuse, skip, missing };

Unseen unseen_of(const SourceName& name) {
  const std::string given = name.choice("unseen", "refuse", {"refuse", "skip", "missing"});
  return given == "skip" ? Unseen::skip : given == "missing" ? Unseen::missing : Unseen::refuse;
}

// A variable of the model and where its values are.
struct Column {
  CsvColumn at;
  LabelFinder labels;
  std::optional<LabelDictionary> declared;
};

std::vector<std::string> names_of(const std::vector<CsvColumn>& columns) {
  std::vector<std::string> names;
  for (const CsvColumn& column : columns) names.push_back(column.name);
  return names;
}

std::vector<std::string> names_of(const Space& space) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < space.n_variables(); ++i) names.push_back(space.variable_name(i));
  return names;
}

// The columns of the space among those that the options select, in any order.
std::vector<CsvColumn> match_columns(const Space& space, const CsvRows& rows, const std::string& what) {
  std::unordered_map<std::string, CsvColumn> there;
  for (const CsvColumn& column : rows.columns()) there.emplace(column.name, column);
  const auto wanted = names_of(space);
  std::vector<CsvColumn> columns;
  std::vector<std::string> lacking;
  for (const std::string& name : wanted) {
    const auto at = there.find(name);
    if (at == there.end()) {
      lacking.push_back(name);
      continue;
    }
    columns.push_back(at->second);
    there.erase(at);
  }
  if (!lacking.empty())
    fail_input(what, ": has no column ", list_labels(lacking), "; it has ", list_labels(names_of(rows.columns())),
               ", and ", list_labels(wanted), " were expected",
               columns.empty() && rows.has_header() ? " (if the file has no header, read it with header=0)" : "");
  std::vector<std::string> others;
  for (const CsvColumn& column : rows.columns())
    if (there.contains(column.name)) others.push_back(column.name);
  note_ignored(rows.file(), others);
  return columns;
}

class ReaderForSpace {
 public:
  ReaderForSpace(const SourceName& name, const Space& space, const std::string& what)
      : name_(name),
        space_(space),
        unseen_(unseen_of(name)),
        rows_(name),
        declared_(name, rows_.encoding(), rows_.refuses_missing()) {
    declared_.require_columns(rows_.all_names(), rows_.file());
    for (CsvColumn& at : match_columns(space, rows_, what)) {
      const auto variable = static_cast<int64_t>(columns_.size());
      // labels= applies to all columns, except those of numbers and dates.
      auto declared = space.bins(variable) == nullptr ? declared_.of(at.name) : std::nullopt;
      columns_.push_back({std::move(at), {space, variable}, std::move(declared)});
    }
  }

  Dataset read(int64_t most) {
    const int64_t limit = most > 0 ? std::min(most, name_.limit()) : name_.limit();
    std::vector<int32_t> labels(columns_.size());
    while (lines_.size() < limit && rows_.next()) {
      if (!read_row(labels)) continue;
      for (const int32_t label : labels) store_.add(label);
      lines_.add(rows_.line());
    }
    report_skipped();
    return {space_, store_.take(space_), false, Origin::lines(rows_.file(), std::move(lines_))};
  }

 private:
  // Whether to keep the row.
  bool read_row(std::vector<int32_t>& labels) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      const Column& column = columns_[i];
      const std::string_view text = rows_.value(column.at);
      if (column.declared && text != kMissingName && !column.declared->has(text))
        refuse_undeclared(rows_.place(), column.at.name, text, declared_.option_for(column.at.name), *column.declared);
      int64_t label = column.labels.find(text);
      if (label < 0 && unseen_ == Unseen::missing) label = column.labels.find(kMissingName);
      if (label < 0 && unseen_ == Unseen::skip) {
        if (n_skipped_++ == 0) first_skipped_ = rows_.place();
        return false;
      }
      if (label < 0) refuse(static_cast<int64_t>(i), text);
      labels[i] = static_cast<int32_t>(label);
    }
    return true;
  }

  [[noreturn]] void refuse(int64_t variable, std::string_view text) const {
    const char* const why = unseen_ == Unseen::missing ? "; unseen=missing needs a column with missing values in "
                                                         "training, unseen=skip leaves such rows out"
                                                       : "; unseen=skip leaves such rows out";
    fail_input(rows_.place(), ": ", unknown_label(space_, variable, text), why);
  }

  void report_skipped() const {
    const int64_t n_rows = n_skipped_ + lines_.size();
    if (n_rows == 0) fail_input(rows_.file(), ": has a header but no rows");
    if (lines_.size() == 0)
      fail_input(rows_.file(), ": all ", n_rows,
                 " rows have labels that training never saw, so none are left (unseen=skip)");
    if (n_skipped_ > 0)
      note(rows_.file(), ": ", n_skipped_, " of ", n_rows,
           " rows have labels that training never saw and are left out (unseen=skip), the first at ", first_skipped_);
  }

  const SourceName& name_;
  const Space& space_;
  Unseen unseen_;
  CsvRows rows_;
  DeclaredLabels declared_;
  std::vector<Column> columns_;
  LabelStore store_;
  ItemNumbers lines_;
  int64_t n_skipped_ = 0;
  std::string first_skipped_;
};

}  // namespace

void note_ignored(const std::string& file, const std::vector<std::string>& columns) {
  if (columns.empty()) return;
  note(file, ": ignoring ", columns.size() == 1 ? "column " : "columns ", list_labels(columns),
       columns.size() == 1 ? ", which is not in the model" : ", which are not in the model");
}

Dataset read_csv_table_for(const SourceName& name, const Space& space, const std::string& what, int64_t most) {
  // The model's labels are fixed, so bins= and max_labels= have no effect, but they must still be valid.
  BinsOption::read(name);
  name.integer("max_labels", 0, {1, kMaxLabels});
  return ReaderForSpace(name, space, what).read(most);
}

}  // namespace segre
