#pragma once

#include <functional>

#include "segre/likelihood/scores.h"

namespace segre::cli {

/// Scores items [N, n] a part at a time, with progress on stderr under the name `what`.
ItemScores score_in_parts(const std::function<ItemScores(const torch::Tensor& labels)>& score,
                          const torch::Tensor& labels, int64_t part, const std::string& what);

}  // namespace segre::cli
