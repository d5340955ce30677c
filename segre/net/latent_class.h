#pragma once

#include "segre/net/net_kinds.h"

namespace segre {

/// Size of a mixture of products.
struct LatentClassOptions {
  int64_t classes = 128;  ///< number K of products
};

/// Exact inference in a learned mixture of K products, p(x) = sum_k pi_k prod_i q_ik(x_i): the log-message that the
/// other variables send to variable i when variable j is known only through probabilities s_j = softmax(e_j):
///
///   l_jk = log <q_jk, s_j>,   m_i = log sum_k softmax_k(log pi_k + sum_{j != i} l_jk) q_ik
///
/// This has the shape of the exact answer in the evidence form (for two variables, m_1 = log(P softmax(e_2)), it
/// represents every table P of nonnegative rank up to K), needs no time, never shows a variable its own evidence, and
/// learns with large steps. It costs 4 B K S operations, less than a dense layer of K units and back.
class LatentClassField final : public Field {
 public:
  LatentClassField(const Space& space, const NetOptions& options, uint64_t seed);
  torch::Tensor forward(const FieldInput& input) override;
  /// Starts tables of many variables from the mixture that expectation maximisation finds; training improves on it.
  void fit(const DataSource& source) override;
  int64_t n_activations() const override;

 private:
  torch::Tensor batched(const torch::Tensor& W) const;

  Space space_;
  torch::Tensor class_logits_;  // [K]
  torch::Tensor label_logits_;  // [K, S], softmax per variable gives q
};

/// net.kind = "latent_class".
NetKind latent_class_kind();

}  // namespace segre
