#pragma once

#include <optional>
#include <string>
#include <vector>

#include "segre/data/joint_table.h"
#include "segre/eval/neighbours.h"
#include "segre/eval/pairs.h"
#include "segre/eval/statistics.h"

namespace segre {

/// Which values of a metric are better.
enum class Better {
  lower,      ///< 0 would be perfect; a finite number of exact samples gives the reference
  reference,  ///< the nearer to the reference the better
};

/// One number that says how good samples are, and what it is to be held against.
struct Metric {
  std::string group;   ///< "marginals"
  std::string name;    ///< "mean difference of a label's share"
  Estimate value;      ///< of the samples
  Estimate reference;  ///< what exact samples give on average (`high`: in 95 of 100 cases no more), or what the
                       ///< held-out items have
  Better better = Better::lower;
  std::optional<bool> differs;  ///< whether chance (5%) does not explain the distance to the reference
  std::string note;
};

/// What is evaluated, and against what.
struct EvaluationData {
  Space space;
  torch::Tensor samples;              ///< [N, n] labels, N >= 2
  torch::Tensor held_out;             ///< [M, n] labels, M >= 2
  torch::Tensor train;                ///< [T, n] labels; undefined where there are no training items
  int64_t n_train = 0;                ///< items of `train` as they are; those behind them are their mirror images
  const JointTable* joint = nullptr;  ///< the exact distribution, where it is known
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
  Neighbours of_samples;   ///< the nearest training items, k of them; undefined tensors where there are none
  Neighbours of_held_out;  ///< the nearest one
};

struct EvaluationOptions {
  uint64_t seed = 1;                   ///< of the permutations
  torch::Device device = torch::kCPU;  ///< where the nearest items are searched
  int64_t neighbours = 5;              ///< training items found for each sample
};

/// Computes every metric that applies; progress on talk(). InputError where there are fewer than two items, or one that
/// is not of the space, as check_integer_labels.
Evaluation evaluate(const EvaluationData& data, const EvaluationOptions& options);

}  // namespace segre
