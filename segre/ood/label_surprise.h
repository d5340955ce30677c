#pragma once  // internal

#include <functional>

#include "segre/flow/flow.h"
#include "segre/ranks/ranks.h"

namespace segre {

struct LabelSurpriseOptions {
  double error = 0.1;   ///< target standard error of each row's largest surprise, in nats
  int64_t most = 4096;  ///< maximum evaluations per row that are averaged; a trial has a quarter as many, or 64
  int64_t sharp = 0;    ///< only rows that may be among so many with the largest surprises reach `error`, the others
                        ///< stay with the fewest evaluations; 0: all reach it
  uint64_t seed = 1;
  std::shared_ptr<Ranks> ranks = one_rank();  ///< share the evaluations; all get all surprises
};

/// How surprising each label of a row is given the row's other labels, in nats:
///
///   surprise_i = log p_i(x_i) - E[log p(x_i | v without v_i)]
///
/// p_i are the label shares in the training data; v is a noisy view of the row on the path, at the time when the scale
/// kappa a/s of the corners is kStrength times the noise, so that labels are mostly known. The model's endpoint gives
/// p(x_i | v); removing the evidence of v_i itself leaves the information of the other labels. For an exact model, the
/// expectation of surprise_i over rows of the training distribution is minus the information in v about label i. A
/// single label that does not fit the others has a large surprise, however well the others fit together. In -log p, by
/// contrast, the surprises of all labels add up.
struct LabelSurprise {
  torch::Tensor mean;        ///< [N, n] float64
  torch::Tensor std_error;   ///< [N, n] float64: from the noise
  torch::Tensor spent;       ///< [N] int64: evaluations of each row
  torch::Tensor refined{};   ///< [N] bool: rows that were to reach the error
  bool out_of_time = false;  ///< the deadline came before they did

  /// On rows with planted pairs, 1.3 to 3.0 work about equally well; at 4.0 the evidence of v_i itself dominates
  /// p(x_i | v), and rounding decides.
  static constexpr double kStrength = 2.0;
};

/// Surprises of distinct rows [N, n], given the label counts [S] of the training data. Noise comes in antithetic pairs
/// and depends only on the row and the seed. A trial that is not averaged in finds how many evaluations the error of a
/// row's largest surprise needs, 64 or twice, four times, ... as many: whoever stops where the errors of what he
/// averages look small stops where they are too small. They are doubled as long as the error is still too large, or
/// until a deadline: it ends the work with DeadlineExceeded only if some rows have had no evaluation yet.
/// `on_progress` receives evaluations done, which only rise, and how many there will be as far as is known.
LabelSurprise label_surprise(const Flow& flow, const torch::Tensor& counts, const torch::Tensor& labels,
                             const LabelSurpriseOptions& options,
                             const std::function<void(int64_t done, int64_t total)>& on_progress = {});

/// The largest surprise of each row, among the variables with several labels: a constant is never odd.
struct LargestSurprise {
  torch::Tensor value;      ///< [N] float64
  torch::Tensor std_error;  ///< [N] float64
  torch::Tensor variable;   ///< [N] int64: where it occurs
};
LargestSurprise largest(const Space& space, const LabelSurprise& surprise);

}  // namespace segre
