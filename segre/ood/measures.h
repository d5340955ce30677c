#pragma once  // internal

#include <functional>
#include <string>
#include <vector>

#include "segre/space/space.h"

namespace segre {

/// A number computed for each item without a network.
struct Measure {
  std::string key;                                        ///< one word, for CSV columns
  std::string name;                                       ///< for display
  std::function<torch::Tensor(const torch::Tensor&)> of;  ///< labels [N, n] int64 -> [N] float64
};

/// Simple models of an item: values of, or upper bounds on, -log p in nats, to compare a network with the
/// item's complexity. `counts` [S] int64: how often each variable has each label in the training data
/// (count_labels).
///   independent  each variable on its own, with its frequencies in the training data (half a count added to each)
///   shared       all variables alike, with the label frequencies of the training data (half a count added);
///                if all variables share their labels
///   own          all variables alike, with the item's own label frequencies: n times their entropy; if shared
///   compressed   bits of the labels compressed by zlib at level 9, minus those of an empty stream. Labels are packed
///                eight to a byte if all are binary, else one byte each, or two if a variable has more than 256 labels;
///                not for tables, whose columns have nothing to repeat
std::vector<Measure> simple_models(const Space& space, const torch::Tensor& counts);

/// Baseline scores that need no model; larger means more outside.
///   foreground   how many variables differ from the background, the most common label in the training data (of that
///                variable, if variables do not share their labels); "uncommon" for tables
///   compressed   images and sequences: as above
///   boundary     images: neighbouring pixels that differ, per pixel of foreground; sequences: neighbours that differ
///   independent  tables: as above, how rare the individual labels are
std::vector<Measure> baselines(const Space& space, const torch::Tensor& counts);

}  // namespace segre
