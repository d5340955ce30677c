#pragma once

#include "segre/net/layers.h"
#include "segre/recipes/experiment.h"

namespace segre::test {

/// A network that a user's program might supply: two dense layers without time, the last one starting at 0.
class TwoLayers final : public Field {
 public:
  TwoLayers(const Space& space, uint64_t seed, int64_t width)
      : in_(add_parameter("in", WeightSource(seed).uniform({width, space.n_coordinates()}, 0.5))),
        out_(add_parameter("out", torch::zeros({space.n_coordinates(), width}))) {}
  torch::Tensor forward(const FieldInput& input) override { return torch::relu(input.W.mm(in_.t())).mm(out_.t()); }
  int64_t n_activations() const override { return in_.size(0) + out_.size(0); }

 private:
  torch::Tensor in_;   // [width, S]
  torch::Tensor out_;  // [S, width]
};

inline CustomField two_layers(const std::string& name = "two-layers", int64_t width = 6) {
  return {name, [width](const Space& space, uint64_t seed) { return std::make_shared<TwoLayers>(space, seed, width); }};
}

}  // namespace segre::test
