#pragma once

#include <optional>
#include <string>
#include <vector>

#include "segre/core/work.h"
#include "segre/data/joint_table.h"
#include "segre/eval/neighbours.h"
#include "segre/eval/pairs.h"
#include "segre/eval/statistics.h"

namespace segre {

/// Which values of a metric are better.
enum class Better {
  lower,      ///< 0 would be perfect; a finite number of exact samples gives the reference
  reference,  ///< closer to the reference is better
};

/// One number for the quality of samples, and what to compare it with.
struct Metric {
  std::string group;   ///< "marginals"
  std::string name;    ///< "mean difference of a label's share"
  Estimate value;      ///< of the samples
  Estimate reference;  ///< mean over exact samples (`high`: their 95% quantile), or the value of the held-out items
  Better better = Better::lower;
  std::optional<bool> differs;  ///< whether the distance to the reference is beyond chance (5%)
  std::string note;
  std::optional<Estimate> training{};     ///< of as many training items in place of the samples
  std::optional<Estimate> independent{};  ///< of as many items whose variables are independent
};

/// What is evaluated, and what it is compared with.
struct EvaluationData {
  Space space;
  torch::Tensor samples;              ///< [N, n] labels, N >= 2
  torch::Tensor held_out;             ///< [M, n] labels, M >= 2
  torch::Tensor train;                ///< [T, n] labels; undefined if there are no training items
  int64_t n_train = 0;                ///< unflipped items of `train`; those after them are their mirror images
  const JointTable* joint = nullptr;  ///< the exact distribution, if known
  torch::Tensor real{};               ///< [K, n] labels of items as good as samples can be; may be undefined
  torch::Tensor independent{};        ///< [K, n] the same with independent variables; undefined with `real`
};

/// Frequencies of pairs of variables.
struct PairComparison {
  PairFamily pairs;
  FrequencyComparison frequencies;
};

/// All metrics, and what they were computed from.
struct Evaluation {
  std::vector<Metric> metrics;
  FrequencyComparison marginals;
  std::vector<PairComparison> pairs;
  Neighbours of_samples;   ///< the k nearest training items; undefined tensors if there are none
  Neighbours of_held_out;  ///< the nearest one
};

struct EvaluationOptions {
  uint64_t seed = 1;                   ///< of the permutations
  torch::Device device = torch::kCPU;  ///< of the nearest-neighbour search
  int64_t neighbours = 5;              ///< training items found for each sample
  WorkCallbacks callbacks{};
};

/// The metrics of single variables and of pairs, which need no other items. Notes call a variable `thing`.
void add_shares(Evaluation& out, const EvaluationData& data, uint64_t seed, const std::string& thing = "variable");
void add_pairs(Evaluation& out, const EvaluationData& data, uint64_t seed);

/// A metric of the samples beside that of the held-out items, its reference; `correlation` is that of their errors.
Metric beside(const std::string& group, const std::string& name, const Estimate& value, const Estimate& reference,
              const std::string& note = {}, double correlation = 0.0);

/// Computes every metric that applies. InputError if there are fewer than two items, or as in
/// check_integer_labels if one is not in the space.
Evaluation evaluate(const EvaluationData& data, const EvaluationOptions& options);

}  // namespace segre
