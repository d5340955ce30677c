#pragma once  // internal

#include <array>
#include <vector>

#include "segre/core/torch.h"

namespace segre::kernels {

/// The numbers of one Adam step, bias corrections included.
struct AdamStep {
  double beta1, beta2, eps;
  double rate;          ///< lr / (1 - beta1^k)
  double inverse_root;  ///< 1 / sqrt(1 - beta2^k)
  double keep;          ///< decay d of the average
};

/// The float32 numbers the kernels use: beta1, 1 - beta1, beta2, 1 - beta2, eps, rate, inverse_root, keep, 1 - keep.
std::array<float, 9> adam_numbers(const AdamStep& step);

/// Updates weight, m, v and average in place in one pass; see Adam for the formula. All five tensors are float32 on the
/// CPU and dense, with the same strides.
void adam_(const torch::Tensor& weight, const torch::Tensor& gradient, const torch::Tensor& m, const torch::Tensor& v,
           const torch::Tensor& average, const AdamStep& step);

/// Its twin in plain tensor operations, for any device and type.
void adam_plain_(const torch::Tensor& weight, const torch::Tensor& gradient, const torch::Tensor& m,
                 const torch::Tensor& v, const torch::Tensor& average, const AdamStep& step);

/// One parameter of a CUDA step; all tensors are dense with the same strides.
struct AdamSegment {
  torch::Tensor weight;    ///< float32
  torch::Tensor gradient;  ///< float32 or bfloat16
  torch::Tensor m, v, average;
  torch::Tensor shadow;  ///< bfloat16 copy of the weight, or undefined
};

/// One step on all segments at once, on CUDA. `numbers` is adam_numbers, [9] on the device; gradients are multiplied by
/// gradient_scale [1]; nothing is written if go [1] is 0.
void adam_cuda_(const std::vector<AdamSegment>& segments, const torch::Tensor& numbers,
                const torch::Tensor& gradient_scale, const torch::Tensor& go);

/// Sum of squares of all gradients on CUDA, in a fixed order, into `total`: float32 [1].
void squared_norm(const std::vector<AdamSegment>& segments, const torch::Tensor& total);

}  // namespace segre::kernels
