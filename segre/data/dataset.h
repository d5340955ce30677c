#pragma once

#include "segre/data/origin.h"
#include "segre/space/space.h"

namespace segre {

/// Items in memory: what every reader returns, and what a program may build itself.
struct Dataset {
  Space space;
  torch::Tensor labels;  ///< [N, n] uint8 if every variable has at most 256 labels, else int32; your own dataset may
                         ///< have any integer type: make_dataset_source checks and narrows it
  bool mirror = false;   ///< training may mirror the images left to right
  Origin origin{};       ///< where the items were read
};

/// The type of Dataset::labels for a space.
torch::ScalarType label_type(const Space& space);

}  // namespace segre
