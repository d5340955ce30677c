#include "segre/eval/table_distances.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "segre/core/parallel.h"
#include "segre/core/rng.h"
#include "segre/data/split.h"

namespace segre {
namespace {

constexpr double kMostCounted = 3e8;  // labels of pairs, over all permutations
constexpr int64_t kMostInformationRounds = 99;
constexpr int64_t kFewestInformationRounds = 19;

// Which rows of N + M are in the first set, [N + M] uint8: as they come in round 0, else at random.
std::vector<uint8_t> deal(int64_t N, int64_t M, uint64_t seed, int64_t round) {
  std::vector<uint8_t> first(N + M, 0);
  const RandomStream random(seed, Purpose::evaluation_rows);
  for (int64_t k = 0; k < N; ++k) first[round == 0 ? k : shuffled(random, static_cast<uint64_t>(round), k, N + M)] = 1;
  return first;
}

// The values of two sets in order, for one distance after another.
class OrderedValues {
 public:
  explicit OrderedValues(const torch::Tensor& values) {
    const auto all = values.contiguous();
    const auto* const value = all.const_data_ptr<double>();
    row_.resize(all.numel());
    std::iota(row_.begin(), row_.end(), 0);
    const auto key = [&](int32_t row) { return std::isnan(value[row]) ? INFINITY : value[row]; };
    std::sort(row_.begin(), row_.end(), [&](int32_t a, int32_t b) { return key(a) < key(b); });
    for (size_t k = 0; k < row_.size(); ++k)
      ends_.push_back(k + 1 == row_.size() || key(row_[k]) != key(row_[k + 1]) ? 1 : 0);
  }

  // The distance between the rows marked and the others.
  double distance(const std::vector<uint8_t>& is_first, double N, double M) const {
    double largest = 0.0;
    int64_t n_first = 0;
    for (size_t k = 0; k < row_.size(); ++k) {
      n_first += is_first[row_[k]];
      if (ends_[k] == 0) continue;
      const auto of_first = static_cast<double>(n_first);
      largest = std::max(largest, std::abs(of_first / N - (static_cast<double>(k + 1) - of_first) / M));
    }
    return largest;
  }

 private:
  std::vector<int32_t> row_;
  std::vector<uint8_t> ends_;  // whether it is the last of equal values
};

}  // namespace

double number_distance(const torch::Tensor& a, const torch::Tensor& b) {
  const int64_t N = a.numel();
  const int64_t M = b.numel();
  return OrderedValues(torch::cat({a, b})).distance(deal(N, M, 0, 0), static_cast<double>(N), static_cast<double>(M));
}

NumberDistances compare_numbers(const torch::Tensor& samples, const torch::Tensor& held_out, uint64_t seed) {
  const int64_t N = samples.size(0);
  const int64_t M = held_out.size(0);
  const int64_t C = samples.size(1);
  std::vector<OrderedValues> columns;
  for (int64_t c = 0; c < C; ++c) columns.emplace_back(torch::cat({samples.select(1, c), held_out.select(1, c)}));
  const int64_t n_rounds = 1 + NumberDistances::kPermutations;  // round 0 is as observed
  auto distances = torch::empty({n_rounds, C}, torch::kFloat64);
  parallel_for(0, n_rounds, 4, [&](int64_t from, int64_t to) {
    for (int64_t round = from; round < to; ++round) {
      const auto is_first = deal(N, M, seed, round);
      for (int64_t c = 0; c < C; ++c)
        distances.data_ptr<double>()[round * C + c] =
            columns[c].distance(is_first, static_cast<double>(N), static_cast<double>(M));
    }
  });
  const auto list = [](const torch::Tensor& values) {
    const auto all = values.contiguous();
    return std::vector<double>(all.const_data_ptr<double>(), all.const_data_ptr<double>() + all.numel());
  };
  const auto dealt = distances.slice(0, 1);
  NumberDistances found;
  found.distance = list(distances[0]);
  found.exact = list(dealt.mean(0));
  found.mean.value = distances[0].mean().item<double>();
  found.mean_exact = floor_estimate(list(dealt.mean(1)));
  found.largest_exact = floor_estimate(list(dealt.amax(1)));
  return found;
}

namespace {

// Sums over the cells of a table of counts: its information, corrected.
double information(const std::vector<int64_t>& cells, int64_t n_first, int64_t n_second, int64_t total) {
  const auto N = static_cast<double>(total);
  std::vector<int64_t> of_first(n_first, 0), of_second(n_second, 0);
  for (int64_t a = 0; a < n_first; ++a)
    for (int64_t b = 0; b < n_second; ++b) {
      of_first[a] += cells[a * n_second + b];
      of_second[b] += cells[a * n_second + b];
    }
  const auto entropy = [&](const std::vector<int64_t>& counts) {
    double sum = 0.0;
    int64_t n_there = 0;
    for (const int64_t count : counts) {
      if (count == 0) continue;
      sum -= static_cast<double>(count) / N * std::log(static_cast<double>(count) / N);
      ++n_there;
    }
    return sum + static_cast<double>(n_there - 1) / (2.0 * N);
  };
  return entropy(of_first) + entropy(of_second) - entropy(cells);
}

// Labels by variable, so that pairs are counted in one pass: [n, N] int32.
torch::Tensor by_variable(const torch::Tensor& labels) { return labels.to(torch::kInt32).t().contiguous(); }

// Information of every pair among the rows that are `wanted` (nullptr: all).
void informations(const Space& space, const torch::Tensor& first, const torch::Tensor& second,
                  const torch::Tensor& labels, const std::vector<uint8_t>* of_set, uint8_t wanted, double* out) {
  const int64_t N = labels.size(1);
  const auto* const label = labels.const_data_ptr<int32_t>();
  std::vector<int64_t> cells;
  for (int64_t k = 0; k < first.numel(); ++k) {
    const int64_t i = first.const_data_ptr<int64_t>()[k];
    const int64_t j = second.const_data_ptr<int64_t>()[k];
    const int64_t n_second = space.n_labels(j);
    cells.assign(space.n_labels(i) * n_second, 0);
    int64_t total = 0;
    for (int64_t row = 0; row < N; ++row) {
      if (of_set != nullptr && (*of_set)[row] != wanted) continue;
      ++cells[label[i * N + row] * n_second + label[j * N + row]];
      ++total;
    }
    out[k] = information(cells, space.n_labels(i), n_second, total);
  }
}

}  // namespace

torch::Tensor mutual_information(const Space& space, const torch::Tensor& first, const torch::Tensor& second,
                                 const torch::Tensor& labels) {
  auto found = torch::empty({first.numel()}, torch::kFloat64);
  informations(space, first, second, by_variable(labels), nullptr, 1, found.data_ptr<double>());
  return found;
}

InformationComparison compare_information(const Space& space, const torch::Tensor& first, const torch::Tensor& second,
                                          const torch::Tensor& samples, const torch::Tensor& held_out, uint64_t seed) {
  const int64_t N = samples.size(0);
  const int64_t M = held_out.size(0);
  const auto labels = by_variable(torch::cat({samples.to(torch::kInt64), held_out.to(torch::kInt64)}));
  const auto work = static_cast<double>(first.numel()) * static_cast<double>(N + M);
  const auto n_permutations = static_cast<int64_t>(
      std::clamp(kMostCounted / work, double{kFewestInformationRounds}, double{kMostInformationRounds}));
  auto found = torch::empty({1 + n_permutations, 2, first.numel()}, torch::kFloat64);
  parallel_for(0, 1 + n_permutations, 1, [&](int64_t from, int64_t to) {
    for (int64_t round = from; round < to; ++round) {
      const auto is_first = deal(N, M, seed, round);
      double* const out = found.data_ptr<double>() + round * 2 * first.numel();
      informations(space, first, second, labels, &is_first, 1, out);
      informations(space, first, second, labels, &is_first, 0, out + first.numel());
    }
  });
  const auto differences = (found.select(1, 0) - found.select(1, 1)).abs().mean(1).contiguous();
  const auto* const difference = differences.const_data_ptr<double>();
  return {found[0][0].clone(), found[0][1].clone(), difference[0],
          floor_estimate({difference + 1, difference + differences.numel()})};
}

}  // namespace segre
