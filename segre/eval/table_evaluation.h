#pragma once

#include <optional>
#include <string>
#include <vector>

#include "segre/core/work.h"
#include "segre/eval/evaluation.h"
#include "segre/read/value_table.h"

namespace segre {

/// Tables to compare, by what their cells mean: see ValueReader.
struct TableEvaluationData {
  std::vector<ValueColumn> columns;
  torch::Tensor samples;   ///< [N, C]
  torch::Tensor held_out;  ///< [M, C] rows that training did not see
  torch::Tensor train{};   ///< [T, C] rows that it saw; undefined: not known
};

struct TableEvaluationOptions {
  uint64_t seed = 1;        ///< of permutations and of the rows chosen
  std::string target{};     ///< the column to predict; empty: see default_target; "none": no prediction
  bool with_shares = true;  ///< marginals, pairs and copies as well; false: `found` has them from labels
  WorkCallbacks callbacks{};
};

/// A column of the samples beside that of the held-out rows.
struct ColumnComparison {
  std::string name;
  bool is_number = false;
  double distance = 0.0;             ///< Kolmogorov-Smirnov distance of numbers, total variation of labels; 0 to 1
  double exact = 0.0;                ///< of exact samples, on average
  std::optional<double> training{};  ///< of training rows
  bool differs = false;              ///< beyond what 95 of 100 exact tables have in any column
  std::string where{};               ///< the value or label that is off the most, if it is: "0: 0.00% of samples, ..."
  /// Of numbers that are known: mean and standard deviation.
  double samples_mean = 0.0, samples_spread = 0.0, held_out_mean = 0.0, held_out_spread = 0.0;
};

/// How strongly two columns depend on each other: mutual information in nats, numbers in groups.
struct PairInformation {
  int64_t first = 0;
  int64_t second = 0;
  double samples = 0.0;
  double held_out = 0.0;
};

/// A sample and the training row that is nearest to it.
struct NearestRow {
  int64_t row = 0;        ///< counted from 0
  double distance = 0.0;  ///< see NearestRows
};

/// What is found about the samples of a table.
struct TableEvaluation {
  std::vector<Metric> metrics;
  std::vector<ColumnComparison> columns;
  std::vector<PairInformation> pairs;
  std::vector<NearestRow> of_samples;      ///< of the first samples; empty if there are no training rows
  std::vector<double> held_out_distances;  ///< the same distances of held-out rows
  std::vector<std::string> verdicts;       ///< in words, only what is beyond the errors
  std::vector<std::string> left_out;       ///< measures that are missing here, and why
};

/// The last column, if it has 2 to 20 labels; "" otherwise.
std::string default_target(const std::vector<ValueColumn>& columns);

/// Compares samples with held-out rows. Each measure stands beside the same measure of as many training rows, the best
/// that samples can do, and of as many rows whose columns are independent:
///
///   numbers             Kolmogorov-Smirnov distance per column
///   marginals, pairs    shares of labels, of numbers that recur, and of intervals of the others
///   mutual information  of pairs, numbers in at most 8 groups
///   two-sample test     the AUC of boosted trees that tell samples from held-out rows, and from training rows
///   usefulness          what trees that learned from samples predict of held-out rows, beside trees that learned from
///                       training rows
///   memorisation        copies of training rows, and how near samples come to them
///
/// InputError if there are fewer than two rows, or `target` is no column.
TableEvaluation evaluate_table(const TableEvaluationData& data, const TableEvaluationOptions& options);

}  // namespace segre
