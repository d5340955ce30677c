#pragma once

#include "segre/core/torch.h"

namespace segre::kernels {

/// The numbers of one Adam step, bias corrections included.
struct AdamStep {
  double beta1, beta2, eps;
  double rate;          ///< lr / (1 - beta1^k)
  double inverse_root;  ///< 1 / sqrt(1 - beta2^k)
  double keep;          ///< decay d of the average
};

/// Updates weight, m, v and average in place in one pass; see Adam for the formula. Contiguous float32 on the CPU.
void adam_(const torch::Tensor& weight, const torch::Tensor& gradient, const torch::Tensor& m, const torch::Tensor& v,
           const torch::Tensor& average, const AdamStep& step);

/// Its twin in plain tensor operations, any device and type.
void adam_plain_(const torch::Tensor& weight, const torch::Tensor& gradient, const torch::Tensor& m,
                 const torch::Tensor& v, const torch::Tensor& average, const AdamStep& step);

}  // namespace segre::kernels
