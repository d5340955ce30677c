#pragma once  // internal

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "segre/space/space.h"

namespace segre {

/// Finds the labels of a variable by name: what a text in a later file means to a model.
class LabelFinder {
 public:
  LabelFinder(const Space& space, int64_t variable);
  /// The label with that name or, in a column of numbers or dates, that of the value; where all labels are numbers, the
  /// equal one: 5.0 is 5; true is True. -1 if there is none.
  int64_t find(std::string_view text) const { return place(text).label; }
  /// The same with the label of the column's second variable, 0 if it has none.
  Bins::Place place(std::string_view text) const;
  /// Whether a label has that name.
  bool has_name(std::string_view text) const { return numbers_.contains(text); }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  Space space_;
  const Bins* bins_;
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> numbers_;
  std::map<double, int64_t> by_value_;  // of plain labels that are all numbers
};

/// The names of a variable's labels.
std::vector<std::string> label_names(const Space& space, int64_t variable);

/// The message about a table value that LabelFinder does not find, with the known labels: "column sky has the label
/// 'hail', which training never saw; it has rain, snow, sun", and what to do about it.
std::string unknown_label(const Space& space, int64_t variable, std::string_view text);

}  // namespace segre
