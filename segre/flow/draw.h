#pragma once

#include <functional>

#include "segre/core/work.h"
#include "segre/flow/sampler.h"
#include "segre/ranks/ranks.h"

namespace segre {

/// Totals over many samples.
struct DrawTotals {
  int64_t n_undecided = 0;    ///< variables, see Samples
  int64_t n_evaluations = 0;  ///< of the network, over all samples

  void add(const Samples& samples);
};

/// What is known of samples first ... first + count - 1, a row each.
using GivenRows = std::function<Known(int64_t first, int64_t count)>;

/// Draws samples 0 ... count - 1 in batches and passes each to use(labels [B, n], index of the first), given what is
/// known of them, if anything is. Several ranks share each batch; all of them get the totals, rank 0
/// alone calls `use`.
DrawTotals draw_samples(const Sampler& sampler, int64_t count,
                        const std::function<void(const torch::Tensor& labels, int64_t first)>& use,
                        const WorkCallbacks& callbacks = {}, const GivenRows& given = {},
                        const std::shared_ptr<Ranks>& ranks = one_rank());

/// Draws the same samples in parts of `blocks` times Sampler::rows_per_block() (the last may be shorter), each rank
/// every size-th of them, and passes each to use(labels, index of the first) on the rank that drew it. All ranks get
/// the totals.
DrawTotals draw_parts(const Sampler& sampler, int64_t count, int64_t blocks,
                      const std::function<void(const torch::Tensor& labels, int64_t first)>& use,
                      const WorkCallbacks& callbacks = {}, const GivenRows& given = {},
                      const std::shared_ptr<Ranks>& ranks = one_rank());

}  // namespace segre
