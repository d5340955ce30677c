#pragma once

#include "segre/net/net_kinds.h"
#include "segre/net/unet_plan.h"

namespace segre {

/// The UNet of Dhariwal and Nichol: residual blocks with group norm and SiLU, attention at chosen heights, time as
/// sinusoids of 1000 t. Parameter names and shapes are those of the public implementation, so weights can be exchanged;
/// tests/net/unet_golden_test.cpp compares outputs and gradients with it.
///
/// Works on [N, pixels, channels], the layout of points in an image space, so neither end needs a copy. Biases are
/// added during passes that happen anyway (in the next norm, or with the residual), and the time embedding of all
/// blocks is one matrix product.
class UNetField final : public Field {
 public:
  UNetField(const Space& space, const UNetOptions& options, uint64_t seed);
  torch::Tensor forward(const FieldInput& input) override;
  int64_t n_activations() const override { return cost_.n_saved; }
  NetCost cost() const override { return cost_; }
  int64_t shard_rows() const override;
  std::vector<std::string> layers() const override;

 private:
  /// An image batch between layers.
  struct Feature {
    torch::Tensor x;  // [N, height * width, channels]
    int64_t height;
    int64_t width;
  };
  struct Affine {
    torch::Tensor weight, bias;
  };
  struct Layer {
    UNetLayer plan;
    Affine conv;               // conv, down, up
    Affine norm_in, norm_out;  // residual: before each convolution; attention: norm_in
    Affine conv_in, conv_out;  // residual
    Affine embedding;          // residual: [out, n_embedding]
    Affine skip;               // residual, if channels change
    Affine qkv, project;       // attention
    int64_t shift_at = 0;      // residual: where its part of the batched embedding starts
  };
  using Stage = std::vector<Layer>;

  class Builder;
  Stage build(Builder& builder, const UNetPlan::Stage& stage);
  std::vector<torch::Tensor> time_shifts(const torch::Tensor& t, int64_t n_items) const;
  Feature run(const Stage& stage, Feature h, const std::vector<torch::Tensor>& shifts) const;
  Feature residual(const Layer& layer, const Feature& h, const torch::Tensor& shift) const;
  Feature attention(const Layer& layer, const Feature& h) const;
  static Feature convolve(const Feature& h, const torch::Tensor& weight, int64_t stride);
  static Feature upsample(const Feature& h);
  torch::Tensor padded(const torch::Tensor& x, int64_t axis) const;

  UNetPlan plan_;
  NetCost cost_;
  int64_t heads_;
  Affine time_in_, time_out_;
  std::vector<Stage> input_;
  Stage middle_;
  std::vector<Stage> output_;
  Affine last_norm_, last_conv_;
  std::vector<Affine> embeddings_;  // of all residual blocks in order
};

/// net.kind = "unet"; its own options are UNetOptions.
NetKind unet_kind();

}  // namespace segre
