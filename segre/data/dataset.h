#pragma once

#include "segre/data/origin.h"
#include "segre/space/space.h"

namespace segre {

/// Items of labels held in memory: what every reader returns, and what a program makes of its own.
struct Dataset {
  Space space;
  torch::Tensor labels;  ///< [N, n] uint8 where every variable has at most 256 labels, else int32; any integer type in
                         ///< a dataset of your own, which make_dataset_source checks and shortens
  bool mirror = false;   ///< training may mirror the images left to right
  Origin origin{};       ///< where the items were read
};

/// The type Dataset::labels has for a space.
torch::ScalarType label_type(const Space& space);

}  // namespace segre
