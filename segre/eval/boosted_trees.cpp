#include "segre/eval/boosted_trees.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "segre/core/error.h"
#include "segre/core/parallel.h"

namespace segre {
namespace {

constexpr int64_t kMostBins = 256;         // of a column, one of them for missing values
constexpr int64_t kFewestCells = 1 << 15;  // to be counted by several threads
constexpr double kLeastGain = 1e-6;        // of a split
constexpr double kMostLogOdds = 15.0;      // of all rows together, if all outcomes are equal

double start_of(const std::vector<double>& outcome, BoostedTrees::Goal goal) {
  const double mean = std::accumulate(outcome.begin(), outcome.end(), 0.0) / static_cast<double>(outcome.size());
  if (goal == BoostedTrees::Goal::number) return mean;
  return std::clamp(std::log(mean / (1.0 - mean)), -kMostLogOdds, kMostLogOdds);
}

torch::Tensor checked(const torch::Tensor& x, size_t n_columns) {
  if (x.dim() != 2 || x.size(0) < 1 || x.size(1) < 1 || x.size(1) != static_cast<int64_t>(n_columns))
    fail_input("boosted trees need rows of ", n_columns, " columns, found values of shape ", x.sizes());
  return x.to(torch::kCPU, torch::kFloat64).contiguous();
}

}  // namespace

uint8_t BoostedTrees::Binning::bin(double value) const {
  if (std::isnan(value)) return 0;
  if (are_labels) return static_cast<uint8_t>(std::min(static_cast<int64_t>(value) + 1, kMostBins - 1));
  return static_cast<uint8_t>(std::lower_bound(cuts.begin(), cuts.end(), value) - cuts.begin() + 1);
}

BoostedTrees::Binning BoostedTrees::make_binning(const double* column, int64_t n_rows, int64_t stride,
                                                 bool are_labels) {
  std::vector<double> values;
  for (int64_t row = 0; row < n_rows; ++row)
    if (const double value = column[row * stride]; !std::isnan(value)) values.push_back(value);
  std::sort(values.begin(), values.end());
  Binning found{.are_labels = are_labels, .n_bins = 1, .cuts = {}};
  if (values.empty()) return found;
  if (are_labels) {
    found.n_bins = found.bin(values.back()) + int64_t{1};
    return found;
  }
  std::vector<double> different = values;
  different.erase(std::unique(different.begin(), different.end()), different.end());
  const auto most = static_cast<size_t>(kMostBins - 2);
  if (different.size() <= most) {
    for (size_t k = 0; k + 1 < different.size(); ++k)
      found.cuts.push_back(std::midpoint(different[k], different[k + 1]));
  } else {
    for (size_t k = 1; k < most; ++k) found.cuts.push_back(values[k * values.size() / most]);
    found.cuts.erase(std::unique(found.cuts.begin(), found.cuts.end()), found.cuts.end());
  }
  found.n_bins = static_cast<int64_t>(found.cuts.size()) + 2;
  return found;
}

torch::Tensor BoostedTrees::bins_of(const torch::Tensor& x) const {
  const int64_t N = x.size(0);
  const int64_t C = x.size(1);
  auto bins = torch::empty({C, N}, torch::kUInt8);
  const auto* value = x.const_data_ptr<double>();
  auto* bin = bins.data_ptr<uint8_t>();
  parallel_for(0, C, 1, [&](int64_t from, int64_t to) {
    for (int64_t c = from; c < to; ++c)
      for (int64_t row = 0; row < N; ++row) bin[c * N + row] = binnings_[c].bin(value[row * C + c]);
  });
  return bins;
}

// Sums over the rows of a bin.
struct BoostedTrees::Sums {
  double gradient = 0.0;
  double curvature = 0.0;
  Sums operator-(const Sums& other) const { return {gradient - other.gradient, curvature - other.curvature}; }
  void add(const Sums& other) {
    gradient += other.gradient;
    curvature += other.curvature;
  }
};

// Grows one tree after another on the gradients of the predictions so far.
class BoostedTrees::Grower {
 public:
  Grower(BoostedTrees& trees, const torch::Tensor& bins, const BoostedOptions& options)
      : trees_(trees), bins_(bins), bin_(bins.const_data_ptr<uint8_t>()), n_rows_(bins.size(1)), options_(options) {
    first_.push_back(0);
    for (const Binning& binning : trees.binnings_) first_.push_back(first_.back() + binning.n_bins);
    rows_.resize(n_rows_);
  }

  // A tree for the gradients and curvatures of all rows; adds its steps to the predictions.
  Tree grow(const std::vector<Sums>& of_row, std::vector<double>& prediction) {
    of_row_ = &of_row;
    prediction_ = &prediction;
    tree_ = {{}};
    std::iota(rows_.begin(), rows_.end(), 0);
    split(0, 0, n_rows_, histogram(0, n_rows_), 0);
    return std::move(tree_);
  }

 private:
  using Histogram = std::vector<Sums>;  // the bins of all columns end to end
  struct Split {
    double gain = kLeastGain;
    int64_t column = -1;
    uint8_t bin = 0;
  };

  Histogram histogram(int64_t begin, int64_t end) const {
    Histogram found(first_.back());
    const auto C = static_cast<int64_t>(first_.size()) - 1;
    const auto count = [&](int64_t from, int64_t to) {
      for (int64_t c = from; c < to; ++c) {
        Sums* const sums = found.data() + first_[c];
        const uint8_t* const bin = bin_ + c * n_rows_;
        for (int64_t k = begin; k < end; ++k) sums[bin[rows_[k]]].add((*of_row_)[rows_[k]]);
      }
    };
    if ((end - begin) * C < kFewestCells) {
      count(0, C);
    } else {
      parallel_for(0, C, 1, count);
    }
    return found;
  }

  double score(const Sums& sums) const { return sums.gradient * sums.gradient / (sums.curvature + options_.ridge); }

  Split best_split(const Histogram& histogram, const Sums& all) const {
    Split best;
    for (size_t c = 0; c + 1 < first_.size(); ++c) {
      Sums left;
      for (int64_t k = first_[c]; k < first_[c + 1]; ++k) {
        if (trees_.binnings_[c].are_labels) left = {};
        left.add(histogram[k]);
        const Sums right = all - left;
        if (left.curvature < options_.least_weight || right.curvature < options_.least_weight) continue;
        const double gain = score(left) + score(right) - score(all);
        if (gain > best.gain) best = {gain, static_cast<int64_t>(c), static_cast<uint8_t>(k - first_[c])};
      }
    }
    return best;
  }

  // Splits the node of rows_[begin, end), whose bins have these sums, and all nodes below it.
  void split(int64_t node, int64_t begin, int64_t end, Histogram sums, int64_t depth) {
    Sums all;
    for (int64_t k = first_[0]; k < first_[1]; ++k) all.add(sums[k]);
    const Split best = depth < options_.depth ? best_split(sums, all) : Split{};
    if (best.column < 0) {
      tree_[node].step = -options_.rate * all.gradient / (all.curvature + options_.ridge);
      for (int64_t k = begin; k < end; ++k) (*prediction_)[rows_[k]] += tree_[node].step;
      return;
    }
    trees_.gains_[best.column] += best.gain;
    const auto left = static_cast<int64_t>(tree_.size());
    tree_[node] = {best.column, best.bin, left, left + 1, 0.0};
    tree_.resize(tree_.size() + 2);
    const uint8_t* const bin = bin_ + best.column * n_rows_;
    const auto middle = std::stable_partition(rows_.begin() + begin, rows_.begin() + end,
                                              [&](int32_t row) { return trees_.goes_left(tree_[node], bin[row]); }) -
                        rows_.begin();
    // Only the smaller child is counted; the other has the rest.
    const bool left_is_smaller = middle - begin <= end - middle;
    Histogram counted = left_is_smaller ? histogram(begin, middle) : histogram(middle, end);
    for (size_t k = 0; k < sums.size(); ++k) sums[k] = sums[k] - counted[k];
    split(left, begin, middle, left_is_smaller ? std::move(counted) : sums, depth + 1);
    split(left + 1, middle, end, left_is_smaller ? std::move(sums) : std::move(counted), depth + 1);
  }

  BoostedTrees& trees_;
  torch::Tensor bins_;
  const uint8_t* bin_;  // [C, N]
  int64_t n_rows_;
  BoostedOptions options_;
  std::vector<int64_t> first_;  // where the bins of each column start in a histogram
  std::vector<int32_t> rows_;   // those of a node are next to each other
  const std::vector<Sums>* of_row_ = nullptr;
  std::vector<double>* prediction_ = nullptr;
  Tree tree_;
};

BoostedTrees::BoostedTrees(const torch::Tensor& x, const std::vector<bool>& are_labels,
                           const std::vector<double>& outcome, Goal goal, const BoostedOptions& options) {
  const auto values = checked(x, are_labels.size());
  const int64_t N = values.size(0);
  const int64_t C = values.size(1);
  if (static_cast<int64_t>(outcome.size()) != N) fail("boosted trees: ", N, " rows and ", outcome.size(), " outcomes");
  for (int64_t c = 0; c < C; ++c)
    binnings_.push_back(make_binning(values.const_data_ptr<double>() + c, N, C, are_labels[c]));
  gains_.resize(C);
  start_ = start_of(outcome, goal);
  Grower grower(*this, bins_of(values), options);
  std::vector<double> prediction(N, start_);
  std::vector<Sums> of_row(N);
  for (int64_t k = 0; k < options.n_trees; ++k) {
    for (int64_t row = 0; row < N; ++row) {
      const double p = 1.0 / (1.0 + std::exp(-prediction[row]));
      of_row[row] = goal == Goal::number ? Sums{prediction[row] - outcome[row], 1.0}
                                         : Sums{p - outcome[row], std::max(p * (1.0 - p), 1e-16)};
    }
    trees_.push_back(grower.grow(of_row, prediction));
  }
}

std::vector<double> BoostedTrees::predict(const torch::Tensor& x) const {
  const auto bins = bins_of(checked(x, binnings_.size()));
  const int64_t N = bins.size(1);
  const auto* bin = bins.const_data_ptr<uint8_t>();
  std::vector<double> found(N, start_);
  parallel_for(0, N, 1024, [&](int64_t from, int64_t to) {
    for (const Tree& tree : trees_)
      for (int64_t row = from; row < to; ++row) {
        const Node* node = tree.data();
        while (node->column >= 0)
          node = tree.data() + (goes_left(*node, bin[node->column * N + row]) ? node->left : node->right);
        found[row] += node->step;
      }
  });
  return found;
}

std::vector<double> BoostedTrees::gains() const {
  const double all = std::accumulate(gains_.begin(), gains_.end(), 0.0);
  std::vector<double> shares = gains_;
  for (double& share : shares) share = all > 0.0 ? share / all : 0.0;
  return shares;
}

}  // namespace segre
