#pragma once

#include <functional>
#include <string>
#include <vector>

#include "segre/space/space.h"

namespace segre {

/// A number that every item has without any network.
struct Measure {
  std::string key;                                        ///< one word, for CSV columns
  std::string name;                                       ///< for people
  std::function<torch::Tensor(const torch::Tensor&)> of;  ///< labels [N, n] int64 -> [N] float64
};

/// -log of each label's share in the training data, half a count added to each so that none is impossible: counts [S]
/// int64 (count_labels) -> [S] float64.
torch::Tensor label_nats(const Space& space, const torch::Tensor& counts);

/// Simple models of an item: upper bounds on, or values of, -log p in nats, so that what a network says of an item can
/// be held against how complex the item is. `counts` [S] int64: how often each variable had each label in the training
/// data (count_labels).
///   independent  every variable by itself, with its frequencies in the training data (half a count added to each)
///   shared       every variable alike, with the label frequencies of the training data (half a count added);
///                where all variables share their labels
///   own          every variable alike, with the item's own label frequencies: n times their entropy; where shared
///   compressed   bits of the labels compressed by zlib at level 9, less an empty stream. Packed eight to a byte where
///                all are binary, else one byte each, or two where a variable has more than 256 labels; not of tables,
///                whose columns have nothing to repeat
std::vector<Measure> simple_models(const Space& space, const torch::Tensor& counts);

/// Scores that need no model at all, as baselines; larger is taken for more outside.
///   foreground   how many variables have another label than the background: the most common one of the training data
///                (of that variable, where variables do not share their labels); "uncommon" of tables
///   compressed   images and sequences: as above
///   boundary     images: neighbouring pixels that differ, per pixel of foreground; sequences: neighbours that differ
///   independent  tables: as above, how rare the labels are by themselves
std::vector<Measure> baselines(const Space& space, const torch::Tensor& counts);

}  // namespace segre
