#pragma once  // internal

#include <vector>

#include "segre/eval/intervals.h"
#include "segre/space/space.h"

namespace segre {

/// The Kolmogorov-Smirnov distance of two sets of numbers: the largest difference of the shares of values up to x. A
/// missing number (NaN) is above all others. [N], [M] float64; in [0, 1].
double number_distance(const torch::Tensor& a, const torch::Tensor& b);

/// number_distance of each column of two tables beside what exact samples would give, by permutations: the rows of both
/// are pooled and dealt out again.
struct NumberDistances {
  std::vector<double> distance;  ///< [C]
  std::vector<double> exact;     ///< [C] of exact samples, on average
  Estimate mean;                 ///< over the columns
  Estimate mean_exact;           ///< of exact samples; `high`: their 95% quantile
  Estimate largest_exact;        ///< the largest of all columns, likewise: a column beyond `high` is significantly off
  static constexpr int64_t kPermutations = 199;
};

/// samples [N, C], held_out [M, C] numbers, C >= 1; N, M >= 1.
NumberDistances compare_numbers(const torch::Tensor& samples, const torch::Tensor& held_out, uint64_t seed);

/// The mutual information of pairs of variables, in nats, from labels [N, n] of any integer type: [P] float64 for pairs
/// (first, second) [P]. Corrected for the number of rows (Miller and Madow): on average 0 for independent variables.
torch::Tensor mutual_information(const Space& space, const torch::Tensor& first, const torch::Tensor& second,
                                 const torch::Tensor& labels);

/// The mutual information of pairs among samples and held-out items.
struct InformationComparison {
  torch::Tensor samples;    ///< [P]
  torch::Tensor held_out;   ///< [P]
  double difference = 0.0;  ///< mean |samples - held_out|
  Estimate exact;           ///< the same for exact samples, by permutations; `high`: their 95% quantile
};

InformationComparison compare_information(const Space& space, const torch::Tensor& first, const torch::Tensor& second,
                                          const torch::Tensor& samples, const torch::Tensor& held_out, uint64_t seed);

}  // namespace segre
