#pragma once

#include "segre/net/net_kinds.h"

namespace segre {

/// F = A W, no bias: the paper's network for the coupled binary variables. With time features f(t) it adds B f(t).
class LinearField final : public Field {
 public:
  LinearField(const Space& space, const NetOptions& options, uint64_t seed);
  torch::Tensor forward(const FieldInput& input) override;
  int64_t n_activations() const override { return weight_.size(0); }

 private:
  int64_t n_time_;
  torch::Tensor weight_;       // [S, S]
  torch::Tensor time_weight_;  // [S, 2 n_time]
};

/// net.kind = "linear".
NetKind linear_kind();

}  // namespace segre
