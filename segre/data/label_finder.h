#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "segre/space/space.h"

namespace segre {

/// Finds the labels of a variable by what they are called: what a text in a later file means to a model.
class LabelFinder {
 public:
  LabelFinder(const Space& space, int64_t variable);
  /// The label of that name; where the labels stand for intervals, also the one that the number or date belongs to; -1
  /// where there is none.
  int64_t find(std::string_view text) const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  Space space_;
  const Bins* bins_;
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> numbers_;
};

/// The names of a variable's labels.
std::vector<std::string> label_names(const Space& space, int64_t variable);

/// What is wrong with a value of a table that LabelFinder does not find, with the labels there are: "column sky has the
/// label 'hail', which training never saw; it has rain, snow, sun", and what to do about it.
std::string unknown_label(const Space& space, int64_t variable, std::string_view text);

}  // namespace segre
