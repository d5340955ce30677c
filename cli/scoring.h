#pragma once

#include <functional>

#include "segre/likelihood/scores.h"

namespace segre::cli {

/// Scores items [N, n] a part at a time, with progress on stderr under the name `what`.
ItemScores score_in_parts(const std::function<ItemScores(const torch::Tensor& labels)>& score,
                          const torch::Tensor& labels, int64_t part, const std::string& what);

/// Shows how far rounds of work are, each with a bar of its own under the name `what`.
std::function<void(int64_t done, int64_t total)> show_rounds(const std::string& what);

}  // namespace segre::cli
