#pragma once  // internal

#include <vector>

#include "segre/core/torch.h"

namespace segre {

/// How many nats an item of a given complexity usually costs:
///
///   log nats = b_0 + sum_k b_k log complexity_k + residual
///
/// fitted by least squares on training items alone. Raw nats mostly reflect how complex an item is; the
/// residual shows whether the model finds it surprising for its complexity. The ratio nats/complexity is the case
/// b_k = 1.
class ComplexityFit {
 public:
  /// `nats` [N] and `complexities`, each [N], of training items; N > 2 + the number of complexities. A complexity that
  /// does not vary is left out (b_k = 0). Below 1 nat the logarithm continues as its tangent, nats - 1, so that fewer
  /// nats always score lower and 0 nats stay finite.
  ComplexityFit(const torch::Tensor& nats, const std::vector<torch::Tensor>& complexities);

  /// The residual in units of its standard deviation on the training items: [N] float64. Larger is more surprising.
  torch::Tensor standardised(const torch::Tensor& nats, const std::vector<torch::Tensor>& complexities) const;

  /// Standard error of standardised() by the delta method, for nats [N] with standard errors nats_error [N].
  torch::Tensor standardised_error(const torch::Tensor& nats, const torch::Tensor& nats_error) const;

  const std::vector<double>& exponents() const { return exponents_; }  ///< b_1, b_2, ...
  double intercept() const { return intercept_; }                      ///< b_0
  double spread() const { return spread_; }                            ///< standard deviation of the residual

 private:
  torch::Tensor residual(const torch::Tensor& nats, const std::vector<torch::Tensor>& complexities) const;

  std::vector<double> exponents_;
  double intercept_ = 0.0;
  double spread_ = 1.0;
};

}  // namespace segre
