#include "segre/tasks/condition.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "segre/core/error.h"
#include "segre/core/log.h"
#include "segre/core/text.h"
#include "segre/core/utf8.h"
#include "segre/data/label_dictionary.h"
#include "segre/data/label_finder.h"
#include "segre/sources/relabel.h"
#include "segre/space/moment.h"
#include "segre/tasks/given.h"

namespace segre {
namespace {

// What is left of a column: labels that represent no numbers, and numbers.
struct Allowed {
  std::vector<bool> labels;  // of all labels; of bins, those after Bins::size()
  ValueSet values{};
};

// What the statements about a column mean for it.
class ColumnReader {
 public:
  ColumnReader(const Space& space, const Column& column, std::string what)
      : space_(space),
        column_(column),
        bins_(space.bins(column.first)),
        n_labels_(space.n_labels(column.first)),
        finder_(space, column.first),
        what_(std::move(what)) {}

  // The label or number of a statement that names just one; a label below 0 if it does not.
  Bins::Place single(const Statement& statement) const {
    const bool is_one = !statement.is_not && statement.any_of.size() == 1 && !statement.any_of[0].range;
    return is_one ? finder_.place(statement.any_of[0].text) : Bins::Place{-1, 0};
  }
  // Its number, if it is one.
  std::optional<double> number(const Statement& statement) const {
    return bins_ == nullptr ? std::nullopt : bins_->parse(statement.any_of[0].text);
  }

  Allowed read(const Statement& statement) const {
    Allowed found{.labels = std::vector<bool>(n_labels_)};
    std::vector<Span> spans;
    for (const Stated& stated : statement.any_of) add(stated, found, spans);
    found.values = ValueSet(std::move(spans));
    if (bins_ == nullptr)
      for (int64_t label = 0; label < n_labels_ && !found.values.empty(); ++label)
        if (const auto value = parse_number(name(label)); value && found.values.contains(*value))
          found.labels[label] = true;
    if (!statement.is_not) return found;
    found.values = found.values.complement();
    found.labels.flip();
    return found;
  }

  // The shares of labels that are left. InputError if none is.
  ColumnLimit limit(const Allowed& allowed) const {
    ColumnLimit limit{.column = column_, .shares = std::vector<double>(n_labels_)};
    const int64_t n_numbers = bins_ == nullptr ? 0 : bins_->size();
    for (int64_t label = 0; label < n_numbers; ++label) {
      std::vector<double> shares;
      const bool is_shared = column_.n_variables == 2 && label < bins_->n_shared();
      const int64_t n_within = is_shared ? space_.n_labels(column_.first + 1) : 1;
      for (int64_t k = 0; k < n_within; ++k) shares.push_back(PlacePart(*bins_, {label, k}, allowed.values).share());
      const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
      const bool is_cut = is_shared && *most > 0.0 && *least < 1.0;
      limit.shares[label] = is_cut ? 1.0 : *most;
      if (is_cut) limit.within.emplace(label, std::move(shares));
    }
    for (int64_t label = n_numbers; label < n_labels_; ++label) limit.shares[label] = allowed.labels[label] ? 1.0 : 0.0;
    if (std::accumulate(limit.shares.begin(), limit.shares.end(), 0.0) == 0.0)
      fail_input(what_, ": leaves no value of ", printable(column_.name),
                 bins_ == nullptr ? std::string(" at all") : "; training had values from " + bins_->range());
    return limit;
  }

 private:
  std::string name(int64_t label) const { return space_.label_name(column_.first, label); }

  [[noreturn]] void fail_unknown(const std::string& text) const {
    const std::string called = printable(column_.name);
    const auto names = label_names(space_, column_.first);
    if (bins_ == nullptr || bins_->n_shared() == 0)
      fail_input(what_, ": ", called, " has the labels ", list_labels(names), "; '", printable(text),
                 "' is none of them");
    fail_input(what_, ": ", called, " holds ", bins_->unit == Bins::Unit::number ? "numbers" : "dates", " from ",
               bins_->range(), "; '", printable(text), "' is none");
  }

  // A label, a number, several of them between bars, or a range.
  void add(const Stated& stated, Allowed& found, std::vector<Span>& spans) const {
    if (stated.range) return spans.push_back(span_of(*stated.range));
    const std::string& text = stated.text;
    if (const auto value = bins_ == nullptr ? std::nullopt : bins_->parse(text))
      return spans.push_back({*value, *value});
    if (const Bins::Place place = finder_.place(text); place.label >= 0) return add_label(place.label, found, spans);
    if (text.find('|') != std::string::npos) {
      for (std::string piece : split(text, '|')) {
        for (size_t at = piece.find("%7C"); at != std::string::npos; at = piece.find("%7C", at + 1))
          piece = concat(piece.substr(0, at), '|', piece.substr(at + 3));
        add({.text = piece}, found, spans);
      }
      return;
    }
    const size_t dots = text.find("..");
    if (dots == std::string::npos) fail_unknown(text);
    spans.push_back(span_of({.low = text.substr(0, dots), .high = text.substr(dots + 2)}));
  }

  // A label that is an interval stands for its numbers.
  void add_label(int64_t label, Allowed& found, std::vector<Span>& spans) const {
    if (bins_ == nullptr || label >= bins_->size()) {
      found.labels[label] = true;
    } else if (label >= bins_->n_shared()) {
      spans.push_back({bins_->own[label - bins_->n_shared()], bins_->own[label - bins_->n_shared()]});
    } else {
      const int64_t end = std::min((label + 1) * bins_->fine, bins_->n_intervals());
      spans.push_back({.low = bins_->edges[label * bins_->fine],
                       .high = bins_->edges[end],
                       .has_high = end == bins_->n_intervals()});
    }
  }

  Span span_of(const Stated::Range& range) const {
    if (range.low.empty() && range.high.empty()) fail_input(what_, ": a range needs an end");
    Span span{.has_low = range.has_low, .has_high = range.has_high};
    // A day has many moments: after it is after its last one, and up to it includes them all.
    if (!range.low.empty()) span.low = end_of(range.low, /*last=*/!range.has_low);
    if (!range.high.empty()) span.high = end_of(range.high, /*last=*/range.has_high);
    if (span.low > span.high)
      fail_input(what_, ": the range is reversed, it begins at ", range.low, " and ends at ", range.high);
    return span;
  }

  double end_of(const std::string& text, bool last) const {
    if (bins_ == nullptr) return end_among_labels(text);
    const auto value = bins_->parse(text);
    if (!value) fail_unknown(text);
    if (bins_->unit == Bins::Unit::number || !last) return *value;
    const auto moment = parse_moment(text);
    const int64_t unit = bins_->unit == Bins::Unit::day ? kSecondsPerDay : bins_->unit == Bins::Unit::minute ? 60 : 1;
    return *value + static_cast<double>(moment ? std::max<int64_t>(0, moment->resolution - unit) : 0);
  }

  // Labels that are numbers without being bins are in ranges, too.
  double end_among_labels(const std::string& text) const {
    const auto value = parse_number(text);
    for (int64_t label = 0; label < n_labels_; ++label)
      if (!value || (!parse_number(name(label)) && name(label) != kMissingName))
        fail_input(what_, ": ", printable(column_.name), " has the labels ",
                   list_labels(label_names(space_, column_.first)), "; ranges are of numbers and dates");
    return *value;
  }

  const Space& space_;
  Column column_;
  const Bins* bins_;
  int64_t n_labels_;
  LabelFinder finder_;
  std::string what_;
};

bool names_one(const Statement& statement) {
  return !statement.is_not && !statement.any_of.empty() && !statement.any_of[0].range;
}

// The statements about each column, in order. InputError if two name what it is.
std::vector<std::pair<Column, std::vector<Statement>>> by_column(const Space& space,
                                                                 const std::vector<Statement>& statements,
                                                                 const std::string& option) {
  std::vector<std::pair<Column, std::vector<Statement>>> all;
  for (const Statement& statement : statements) {
    const Column column = column_named(space, statement.column, option);
    auto at = std::find_if(all.begin(), all.end(), [&](const auto& a) { return a.first.first == column.first; });
    if (at == all.end()) at = all.insert(all.end(), {column, {}});
    if (names_one(statement) && std::any_of(at->second.begin(), at->second.end(), names_one))
      fail_input(option, " ", printable(statement.text), ": ", printable(column.name), " is stated twice");
    at->second.push_back(statement);
  }
  return all;
}

// What all statements leave.
Allowed read_all(const ColumnReader& reader, const std::vector<Statement>& statements) {
  Allowed allowed = reader.read(statements.front());
  for (size_t k = 1; k < statements.size(); ++k) {
    const Allowed also = reader.read(statements[k]);
    allowed.values = allowed.values.intersect(also.values);
    for (size_t label = 0; label < allowed.labels.size(); ++label)
      allowed.labels[label] = allowed.labels[label] && also.labels[label];
  }
  return allowed;
}

}  // namespace

Condition::Condition(torch::Tensor labels, std::string text) : labels_(std::move(labels)), text_(std::move(text)) {}

Condition::Condition(const Space& space, const std::vector<Statement>& statements, const std::string& option)
    : labels_(torch::full({1, space.n_variables()}, kUnknown, torch::kInt64)) {
  GivenValues values;
  for (const auto& [column, about] : by_column(space, statements, option)) add(space, column, about, option, values);
  if (!values.empty()) values_ = std::make_shared<const GivenValues>(std::move(values));
}

void Condition::know(const Column& column, Bins::Place place) {
  labels_[0][column.first] = place.label;
  if (column.n_variables == 2) labels_[0][column.first + 1] = place.within;
}

void Condition::know_number(const Bins& bins, const Column& column, double value, GivenValues& values) {
  know(column, bins.place(value));
  values.emplace(column.first, GivenValue{.values = ValueSet::of(value), .exact = value});
  if (!bins.covers(value))
    note(column.name, " = ", bins.text_of(value), " lies outside the range of training, ", bins.range(),
         ": the other columns are as for the nearest value");
}

void Condition::add(const Space& space, const Column& column, const std::vector<Statement>& statements,
                    const std::string& option, GivenValues& values) {
  std::vector<std::string> texts;
  for (const Statement& statement : statements) texts.push_back(statement.text);
  const std::string text = join(texts, ",");
  if (!text_.empty()) text_ += ',';
  text_ += text;
  const Bins* bins = space.bins(column.first);
  const ColumnReader reader(space, column, concat(option, " ", printable(text)));
  if (const auto place = reader.single(statements.front()); statements.size() == 1 && place.label >= 0) {
    const auto number = reader.number(statements.front());
    return number ? know_number(*bins, column, *number, values) : know(column, place);
  }
  const Allowed allowed = read_all(reader, statements);
  const bool no_labels = std::find(allowed.labels.begin(), allowed.labels.end(), true) == allowed.labels.end();
  if (const auto number = allowed.values.single(); bins != nullptr && number && no_labels)
    return know_number(*bins, column, *number, values);
  ColumnLimit limit = reader.limit(allowed);
  const auto first = std::find_if(limit.shares.begin(), limit.shares.end(), [](double share) { return share > 0.0; });
  const bool is_one = std::none_of(first + 1, limit.shares.end(), [](double share) { return share > 0.0; });
  if (bins == nullptr && is_one) return know(column, {first - limit.shares.begin(), 0});
  if (bins != nullptr) values.emplace(column.first, GivenValue{.values = allowed.values});
  limits_.push_back(std::move(limit));
}

bool Condition::concerns(int64_t variable) const {
  if (empty()) return false;
  if (labels_[0][variable].item<int64_t>() != kUnknown) return true;
  return std::any_of(limits_.begin(), limits_.end(), [variable](const ColumnLimit& limit) {
    return variable >= limit.column.first && variable < limit.column.first + limit.column.n_variables;
  });
}

std::string Condition::key() const {
  if (empty()) return {};
  const auto labels = labels_.to(torch::kCPU, torch::kInt64).contiguous();
  const auto* first = reinterpret_cast<const char*>(labels.const_data_ptr<int64_t>());
  return text_ + '\n' + std::string(first, first + labels.numel() * static_cast<int64_t>(sizeof(int64_t)));
}

namespace {

// The sign that a text begins with, "" if none.
std::string sign_at(const std::string& text, size_t at) {
  for (const char* const sign : {"!=", "<=", ">=", "=", "<", ">"})
    if (text.compare(at, std::string(sign).size(), sign) == 0) return sign;
  return {};
}

Statement statement_of(const std::string& column, const std::string& sign, const std::string& value) {
  Statement statement{.column = column, .any_of = {}, .text = column + sign + value};
  if (sign == "=" || sign == "!=") {
    statement.any_of = {{.text = value}};
    statement.is_not = sign == "!=";
  } else if (sign[0] == '<') {
    statement.any_of = {{.range = Stated::Range{.high = value, .has_high = sign == "<="}}};
  } else {
    statement.any_of = {{.range = Stated::Range{.low = value, .has_low = sign == ">="}}};
  }
  return statement;
}

// A statement: the longest name of a column that a sign follows; else what stands before the first sign, which is then
// no name. Nothing without a sign.
std::optional<Statement> read_statement(const Space& space, const std::string& text) {
  std::string name;
  for (const Column& column : space.columns_and_variables())
    if (column.name.size() > name.size() && text.starts_with(column.name) && !sign_at(text, column.name.size()).empty())
      name = column.name;
  if (name.empty()) name = text.substr(0, text.find_first_of("=<>"));
  if (name.size() == text.size()) return std::nullopt;
  if (name.ends_with('!') && sign_at(text, name.size()) == "=") name.pop_back();
  const std::string sign = sign_at(text, name.size());
  return statement_of(name, sign, text.substr(name.size() + sign.size()));
}

// Whether a text begins with a column's name and a sign, or has a sign before any mark of a source's name.
bool has_statements(const Space& space, const std::string& text) {
  for (const Column& column : space.columns_and_variables())
    if (text.starts_with(column.name) && !sign_at(text, column.name.size()).empty()) return true;
  const size_t sign = text.find_first_of("=<>");
  return sign != std::string::npos && text.find_first_of(":?") > sign;
}

// The name of a source for a word that may be a bare file.
std::string source_name(const std::string& text) {
  if (text.ends_with(".csv") || text.ends_with(".csv.gz")) return std::filesystem::exists(text) ? "csv:" + text : text;
  return text.ends_with(".npy") && std::filesystem::exists(text) ? "npy:" + text : text;
}

}  // namespace

Condition parse_condition(const Space& space, const std::string& text, const std::string& option) {
  if (!has_statements(space, text))
    return Condition(open_source_for(space, source_name(text), option + " " + text, Unknowns::allow)->rows(0, 1), text);
  std::vector<Statement> statements;
  for (const std::string& word : split_list(text, option)) {
    const auto statement = read_statement(space, word);
    if (!statement) fail_input(option, " ", text, ": '", printable(word), "' is not NAME=LABEL");
    statements.push_back(*statement);
  }
  return {space, statements, option};
}

GivenTerms parse_given(const Space& space, const std::vector<std::string>& words, const std::string& option) {
  GivenTerms terms;
  std::vector<Statement> statements;
  const auto name = [&](const std::string& word) {
    const auto named = parse_variables(space, word, option);
    terms.variables = terms.variables.defined() ? terms.variables.logical_or(named) : named;
  };
  for (const std::string& word : words) {
    const bool is_mask = word.ends_with(".png") || word.ends_with(".npy");
    const bool has_sign = word.find_first_of("=<>") != std::string::npos;
    if (!has_sign || find_column(space, word) || (is_mask && !has_statements(space, word))) {
      name(word);
      continue;
    }
    for (const std::string& piece : split_list(word, option)) {
      const auto statement = find_column(space, piece) ? std::nullopt : read_statement(space, piece);
      statement ? statements.push_back(*statement) : name(piece);
    }
  }
  if (!statements.empty()) terms.condition = Condition(space, statements, option);
  return terms;
}

}  // namespace segre
