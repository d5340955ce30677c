#include "segre/ood/rare_pairs.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "segre/core/error.h"
#include "segre/core/parallel.h"

namespace segre {
namespace {

constexpr double kChance = 0.05;

// Roughly -log of the probability of seeing this few: half the deviance of a Poisson count. 0 unless there are too few.
double deviance(double seen, double expected) {
  if (seen >= expected) return 0.0;
  return expected - seen + (seen > 0.0 ? seen * std::log(seen / expected) : 0.0);
}

constexpr int64_t kBits = 64;  // training rows in a word

// For every label of a row, the training rows that have it: a bit each.
class Masks {
 public:
  Masks(const torch::Tensor& columns, const int64_t* row)
      : n_(columns.size(0)), n_words_((columns.size(1) + kBits - 1) / kBits), words_(n_ * n_words_, 0) {
    const int64_t n_train = columns.size(1);
    const auto* column = columns.const_data_ptr<int32_t>();
    for (int64_t i = 0; i < n_; ++i, column += n_train) {
      const auto label = static_cast<int32_t>(row[i]);
      for (int64_t word = 0; word < n_words_; ++word) {
        const int64_t first = word * kBits;
        const int64_t count = std::min(kBits, n_train - first);
        uint64_t bits = 0;
        for (int64_t k = 0; k < count; ++k) bits |= static_cast<uint64_t>(column[first + k] == label) << k;
        words_[i * n_words_ + word] = bits;
      }
    }
  }
  // Training rows with the row's labels i and j.
  int64_t together(int64_t i, int64_t j) const {
    const uint64_t* a = words_.data() + i * n_words_;
    const uint64_t* b = words_.data() + j * n_words_;
    int64_t count = 0;
    for (int64_t word = 0; word < n_words_; ++word) count += std::popcount(a[word] & b[word]);
    return count;
  }

 private:
  int64_t n_;
  int64_t n_words_;
  std::vector<uint64_t> words_;  // [n, n_words]
};

// columns [n, M]: the training rows, transposed.
std::optional<RarePair> rarest_pair(const int64_t* row, const torch::Tensor& columns) {
  const int64_t n = columns.size(0);
  const auto n_train = static_cast<double>(columns.size(1));
  const Masks masks(columns, row);
  std::vector<double> alone;
  for (int64_t i = 0; i < n; ++i) alone.push_back(static_cast<double>(masks.together(i, i)));
  std::optional<RarePair> rarest;
  double largest = std::log(0.5 * static_cast<double>(n * (n - 1)) / kChance);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i + 1; j < n; ++j) {
      const double expected = alone[i] * alone[j] / n_train;
      if (!(expected > largest)) continue;  // no count would be surprising
      const int64_t seen = masks.together(i, j);
      const double found = deviance(static_cast<double>(seen), expected);
      if (!(found > largest)) continue;
      largest = found;
      rarest = RarePair{i, j, seen, expected};
    }
  return rarest;
}

}  // namespace

std::vector<std::optional<RarePair>> rarest_pairs(const torch::Tensor& rows, const torch::Tensor& train) {
  constexpr int64_t kRowsPerTask = 16;
  const auto columns = train.t().to(torch::kInt32).contiguous();
  const auto labels = rows.to(torch::kInt64).contiguous();
  const auto* first = labels.const_data_ptr<int64_t>();
  std::vector<std::optional<RarePair>> pairs(static_cast<size_t>(rows.size(0)));
  parallel_for(0, rows.size(0), kRowsPerTask, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) pairs[k] = rarest_pair(first + k * rows.size(1), columns);
  });
  return pairs;
}

std::string describe(const RarePair& pair, const Space& space, const torch::Tensor& row) {
  const auto label = [&](int64_t i) {
    return concat(space.variable_name(i), " = ", space.label_name(i, row[i].item<int64_t>()));
  };
  return concat(label(pair.first), " with ", label(pair.second));
}

}  // namespace segre
