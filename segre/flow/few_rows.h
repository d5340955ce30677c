#pragma once  // internal

#include <array>
#include <mutex>

#include "segre/flow/flow.h"

namespace segre {

/// How few rows of a flow may be evaluated at once where whole blocks of rows_per_block() are the rule. A matrix
/// product may round a row differently among fewer rows, so a number of rows counts only once a whole block has had the
/// same bits in parts of it, on this machine and with these weights. Found at the first request for it; threads may
/// share it.
class FewRows {
 public:
  /// What is evaluated: Flow::endpoint at one time for all rows, and what readouts make of the state, or
  /// Flow::log_marginals.
  enum class Asked { endpoint, log_marginals };

  /// The fewest rows, a divisor of rows_per_block(), or rows_per_block() itself if no less will do. `known`: which of
  /// the tensors of a Known the rows have, see shape_of.
  int64_t operator()(const Flow& flow, Asked asked, int known) const;

 private:
  mutable std::mutex mutex_;
  mutable std::array<int64_t, 8> found_{};  // 0: not tried yet
};

}  // namespace segre
