#pragma once

#include "segre/data/origin.h"
#include "segre/space/space.h"

namespace segre {

/// A number or date outside the range of a variable's bins, that is of the data that they were made for.
struct OutsideValue {
  int64_t item;
  int64_t variable;
  std::string text;     ///< as the file has it
  double beyond = 0.0;  ///< Bins::beyond
};

/// Items in one tensor: what every reader returns, and what a program may build itself. It is in memory, or a view of a
/// MappedFile that may be larger.
struct Dataset {
  Space space;
  torch::Tensor labels;  ///< [N, n] of label_type(space, unknowns); your own dataset may have any integer type:
                         ///< make_dataset_source checks and narrows it
  bool mirror = false;   ///< training may mirror the images left to right
  Origin origin{};       ///< where the items were read
  Unknowns unknowns = Unknowns::refuse;  ///< whether labels may be kUnknown
  std::vector<OutsideValue> outside{};   ///< values beyond the bins of a model's space, in the order of items
  ItemNumbers file_rows{};               ///< the row of each item in its table, counted from 0; empty: its own number
};

/// The type of Dataset::labels for a space: uint8 if every variable has at most 256 labels, else int32; int16 or int32
/// if labels may be kUnknown.
torch::ScalarType label_type(const Space& space, Unknowns unknowns = Unknowns::refuse);

}  // namespace segre
