#pragma once

#include "segre/net/net_kinds.h"

namespace segre {

/// Size of an MLP.
struct MlpOptions {
  std::vector<int64_t> hidden = {256, 256};  ///< widths of the hidden layers
  bool batch_norm = false;                   ///< batch normalisation before each dense layer, as in the paper
  double input_gain = 1.0;                   ///< factor on the input: probabilities of many labels are small
};

/// Dense layers with ReLU between them, time features added into the first: h = relu(A gain W + B f(t) + b), ...
/// With batch_norm each dense layer sees a normalised input, as in the paper. The last layer starts at 0, so an
/// untrained model in the evidence form already knows Bayes' rule for independent variables.
class MlpField final : public Field {
 public:
  MlpField(const Space& space, const NetOptions& options, uint64_t seed);
  torch::Tensor forward(const FieldInput& input) override;
  int64_t n_activations() const override;

 private:
  struct Layer {
    torch::Tensor weight;  // [out, in]
    torch::Tensor bias;    // [out]
    // batch normalisation of the input (undefined without it): gain and shift [in], running mean and variance [in]
    torch::Tensor norm_weight, norm_bias, norm_mean, norm_var;
  };
  Layer make_layer(class WeightSource& source, size_t number, int64_t in, int64_t out, bool last, bool batch_norm);
  int64_t n_time_;
  double gain_;
  std::vector<Layer> layers_;
  torch::Tensor time_weight_;  // [hidden_0, 2 n_time]
};

/// net.kind = "mlp".
NetKind mlp_kind();

}  // namespace segre
