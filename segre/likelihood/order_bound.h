#pragma once

#include "segre/flow/state_blocks.h"
#include "segre/likelihood/scores.h"

namespace segre {

/// In which order labels are filled in.
enum class LabelOrder {
  any,            ///< the average over all orders: a bound
  left_to_right,  ///< variable 0 first
  random,         ///< one random order for all items
};

/// How to fill in, and what to score.
struct OrderOptions {
  LabelOrder order = LabelOrder::any;
  int64_t times = 32;  ///< evaluations per item, a multiple of 2 (any)
  uint64_t seed = 1;
  torch::Tensor given{};      ///< [n] bool: variables that are given, so that log p of the others given these is scored
  bool per_variable = false;  ///< also what each variable contributes: ItemScores::cells
};

/// Likelihoods of the samplers that fill in labels one by one, each drawn from its marginal given those before:
/// evidence is infinite or none, and nothing is integrated.
///
///   any              -log p(x) <= E over orders of sum_k -log pi(x_k | those before k)
///   left_to_right    the exact, normalised log p of the sampler that fills in that order; n evaluations per item
///   random           the same for a random order, which is a function of the seed
///
/// The average over orders is estimated by showing random sets of cells: with m of n cells to be found, n/m times the
/// sum of their -log pi is unbiased if every m is equally likely. Numbers m are stratified, two sets per stratum.
class OrderBound {
 public:
  /// InputError unless the flow accepts known labels.
  OrderBound(Flow flow, const OrderOptions& options);

  /// log_p of labels [N, n] int64, kUnknown for variables that are left out; each depends only on the item and the
  /// seed.
  ItemScores operator()(const torch::Tensor& labels) const;
  /// Evaluations of the network per item.
  int64_t evaluations() const;
  /// How many items to pass at once to keep all threads, or the GPU, busy.
  int64_t items_per_call() const;

 private:
  struct Marks {
    torch::Tensor known;   // [R, n] int64: Known::labels of an item's rows
    torch::Tensor weight;  // [R, n] float64: of each variable's -log pi
  };
  int64_t items_per_block() const;
  Marks random_sets(const torch::Tensor& labels, const torch::Tensor& marks, uint64_t seed) const;
  Marks in_order(const torch::Tensor& labels, const torch::Tensor& marks) const;
  void require_row_memory() const;
  std::vector<torch::Tensor> parts_of(const torch::Tensor& labels, const torch::Tensor& marks,
                                      const uint64_t* seeds) const;

  Flow flow_;
  OrderOptions options_;
  std::shared_ptr<const StateBlocks> marginals_;
};

}  // namespace segre
