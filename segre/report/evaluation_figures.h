#pragma once  // internal

#include "segre/eval/evaluation.h"
#include "segre/report/figures.h"
#include "segre/report/picture.h"

namespace segre {

/// How far samples and held-out items are from their nearest training item: two histograms of shares.
Figure nearest_distances(const Evaluation& evaluation);

/// Share of each label among the held-out items (x axis) against its share among the samples (y axis): exact samples
/// scatter about the diagonal. One panel for single variables and one for each family of pairs; with very many labels,
/// an evenly spaced selection.
Figure share_scatter(const Evaluation& evaluation);

/// For images: how often each pixel is off the background, in samples, in held-out items, and the difference.
Figure marginal_maps(const Space& space, const FrequencyComparison& marginals, int64_t background);

/// The memorisation figure of the paper: each of `chosen` [K] samples (red frame) followed by its nearest training
/// items, two such groups per row unless images are wide.
Picture neighbour_picture(const EvaluationData& data, const Evaluation& evaluation, const torch::Tensor& chosen);

}  // namespace segre
