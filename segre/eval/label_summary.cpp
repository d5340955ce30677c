#include "segre/eval/label_summary.h"

#include <cmath>
#include <limits>

namespace segre {
namespace {

// Share of horizontally or vertically adjacent pairs with different labels.
double differing_neighbours(const Space& space, const torch::Tensor& labels) {
  if (!space.is(PartKind::image)) return std::numeric_limits<double>::quiet_NaN();
  const Part& image = *space.image_part();
  const auto images = labels.view({-1, image.height(), image.width()});
  double differ = 0.0;
  double pairs = 0.0;
  for (const int64_t axis : {1, 2}) {
    const int64_t length = images.size(axis);
    const auto pair = images.narrow(axis, 1, length - 1) != images.narrow(axis, 0, length - 1);
    differ += pair.sum().item<double>();
    pairs += static_cast<double>(pair.numel());
  }
  return pairs > 0.0 ? differ / pairs : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

LabelSummary summarise_labels(const Space& space, const torch::Tensor& labels) {
  LabelSummary out;
  std::vector<int64_t> n_having(static_cast<size_t>(space.max_labels()), 0);  // number of variables that have each
                                                                              // label
  for (const Block& block : space.blocks(torch::kCPU))
    for (int64_t label = 0; label < block.n_labels; ++label) n_having[static_cast<size_t>(label)] += block.n_variables;
  const auto counts = torch::bincount(labels.flatten(), {}, space.max_labels()).to(torch::kFloat64);
  for (int64_t label = 0; label < space.max_labels(); ++label)
    out.shares.push_back(counts[label].item<double>() /
                         static_cast<double>(n_having[static_cast<size_t>(label)] * labels.size(0)));
  const auto nonzero = (labels != 0).sum(1).to(torch::kFloat64);
  out.nonzero_mean = nonzero.mean().item<double>();
  out.nonzero_sd = labels.size(0) > 1 ? nonzero.std().item<double>() : 0.0;
  out.neighbours_differ = differing_neighbours(space, labels);
  return out;
}

double share_error(const LabelSummary& summary, const LabelSummary& reference) {
  double sum = 0.0;
  for (size_t k = 0; k < summary.shares.size(); ++k) sum += std::abs(summary.shares[k] - reference.shares[k]);
  return sum / static_cast<double>(summary.shares.size());
}

}  // namespace segre
