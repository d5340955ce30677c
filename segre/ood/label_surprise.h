#pragma once

#include <functional>

#include "segre/flow/flow.h"

namespace segre {

struct LabelSurpriseOptions {
  double error = 0.1;   ///< standard error wanted of each row's largest surprise, in nats
  int64_t most = 4096;  ///< evaluations per row
  uint64_t seed = 1;
};

/// How surprising each label of a row is among the row's other labels, in nats:
///
///   surprise_i = log p_i(x_i) - E[log p(x_i | v without v_i)]
///
/// p_i are the label shares of the training data, v is a noisy view of the row on the path, at the time when the scale
/// kappa a/s of the corners is kStrength times the noise, so that labels are mostly known. Given v, the model's
/// endpoint says p(x_i | v); less the evidence of v_i itself this is what the other labels say. For an exact model the
/// expectation of surprise_i over rows of the training distribution is minus the information that v has of label i; one
/// label that does not go with the others has a large surprise, however many of the others go together well. That is
/// what tells it from -log p, in which the others' surprises are added up.
struct LabelSurprise {
  torch::Tensor mean;       ///< [N, n] float64
  torch::Tensor std_error;  ///< [N, n] float64: of the noise
  torch::Tensor spent;      ///< [N] int64: evaluations of each row

  /// On rows with planted pairs 1.3 to 3.0 are about equally good; at 4.0 little is left of p(x_i | v) beside the
  /// evidence of v_i itself, and rounding decides.
  static constexpr double kStrength = 2.0;
};

/// Surprises of different rows [N, n] with the label counts [S] of the training data. Noise comes in antithetic pairs,
/// a row's depends on the row and the seed alone; all rows get kFirstDraws evaluations, those whose largest surprise is
/// still too noisy as many again, and again.
LabelSurprise label_surprise(const Flow& flow, const torch::Tensor& counts, const torch::Tensor& labels,
                             const LabelSurpriseOptions& options,
                             const std::function<void(int64_t done, int64_t total)>& on_progress = {});

/// The largest surprise of each row.
struct LargestSurprise {
  torch::Tensor value;      ///< [N] float64
  torch::Tensor std_error;  ///< [N] float64
  torch::Tensor variable;   ///< [N] int64: whose
};
LargestSurprise largest(const LabelSurprise& surprise);

}  // namespace segre
