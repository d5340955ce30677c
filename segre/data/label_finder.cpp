#include "segre/data/label_finder.h"

#include <algorithm>
#include <iterator>

#include "segre/core/error.h"
#include "segre/core/utf8.h"
#include "segre/data/label_dictionary.h"

namespace segre {

namespace {

// The labels by their values, if all are different numbers: also codes such as 007, which other programs read as 7.
std::map<double, int64_t> values_of(const Space& space, int64_t variable) {
  std::map<double, int64_t> labels;
  for (int64_t label = 0; label < space.n_labels(variable); ++label) {
    const std::string name = space.label_name(variable, label);
    if (name == kMissingName) continue;
    const auto value = parse_number(name);
    if (!value || !labels.emplace(*value, label).second) return {};
  }
  return labels;
}

// How programs write truth values.
constexpr const char* kTruths[2][3] = {{"True", "true", "TRUE"}, {"False", "false", "FALSE"}};

}  // namespace

LabelFinder::LabelFinder(const Space& space, int64_t variable) : space_(space), bins_(space_.bins(variable)) {
  // The name of a label that several intervals share does not say which of them is meant.
  const int64_t first = bins_ != nullptr && bins_->fine > 1 ? bins_->n_shared() : 0;
  for (int64_t label = first; label < space_.n_labels(variable); ++label)
    numbers_.emplace(space_.label_name(variable, label), label);
  if (bins_ == nullptr) by_value_ = values_of(space_, variable);
}

Bins::Place LabelFinder::place(std::string_view text) const {
  if (const auto at = numbers_.find(text); at != numbers_.end()) return {at->second, 0};
  for (const auto& truth : kTruths)
    if (std::find(std::begin(truth), std::end(truth), text) != std::end(truth))
      for (const char* way : truth)
        if (const auto at = numbers_.find(way); at != numbers_.end()) return {at->second, 0};
  if (bins_ == nullptr && by_value_.empty()) return {-1, 0};
  const auto value = bins_ != nullptr ? bins_->parse(text) : parse_number(text);
  if (!value) return {-1, 0};
  if (bins_ != nullptr) return bins_->place(*value);
  const auto equal = by_value_.find(*value);
  return {equal != by_value_.end() ? equal->second : -1, 0};
}

std::vector<std::string> label_names(const Space& space, int64_t variable) {
  std::vector<std::string> names;
  for (int64_t label = 0; label < space.n_labels(variable); ++label) names.push_back(space.label_name(variable, label));
  return names;
}

std::string unknown_label(const Space& space, int64_t variable, std::string_view text) {
  const std::string column = concat("column ", printable(space.variable_name(variable)));
  const std::string known = list_labels(label_names(space, variable));
  if (const Bins* bins = space.bins(variable))
    return concat(column, " is '", printable(text), "', a ", bins->called(), " was expected",
                  bins->are_levels ? "" : concat(", or one of the bins of training: ", known));
  return concat(
      column, " has the label '", printable(text), "', which training never saw; it has ", known,
      " (if it can occur, train with it declared: labels= or dictionary= of csv:, a row with p = 0 of joint:)");
}

}  // namespace segre
