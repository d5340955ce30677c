#include "segre/eval/pairs.h"

#include <algorithm>
#include <set>

#include "segre/core/error.h"
#include "segre/core/rng.h"
#include "segre/data/dataset.h"

namespace segre {
namespace {

constexpr int64_t kMostPairs = 2048;
constexpr int64_t kMostCells = int64_t{1} << 15;  // of all pairs of a family together

using Pair = std::pair<int64_t, int64_t>;

int64_t n_cells(const Space& space, const Pair& pair) {
  return std::min(kMostPairLabels, space.n_labels(pair.first)) * std::min(kMostPairLabels, space.n_labels(pair.second));
}

PairFamily family(std::string name, const std::vector<Pair>& pairs, int64_t n_there) {
  PairFamily out{std::move(name), torch::empty({static_cast<int64_t>(pairs.size())}, torch::kInt64), {}, n_there};
  out.second = torch::empty_like(out.first);
  for (size_t k = 0; k < pairs.size(); ++k) {
    out.first.data_ptr<int64_t>()[k] = pairs[k].first;
    out.second.data_ptr<int64_t>()[k] = pairs[k].second;
  }
  return out;
}

// A fixed random subset of the pairs, as many as the limits allow.
std::vector<Pair> some_of(const Space& space, std::vector<Pair> pairs) {
  std::vector<Pair> chosen;
  int64_t cells = 0;
  for (size_t k = 0; k < pairs.size() && chosen.size() < static_cast<size_t>(kMostPairs); ++k) {
    const double u = uniform_double({0, Purpose::evaluation_rows}, k);
    std::swap(pairs[k], pairs[k + static_cast<size_t>(u * static_cast<double>(pairs.size() - k))]);
    cells += n_cells(space, pairs[k]);
    if (cells > kMostCells && !chosen.empty()) break;
    chosen.push_back(pairs[k]);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::vector<Pair> neighbours(const Space& space) {
  std::vector<Pair> pairs;
  for (const Part& part : space.parts()) {
    if (part.kind == PartKind::columns) continue;
    const int64_t width = part.shape.back();
    for (int64_t i = 0; i < part.size(); ++i) {
      if ((i + 1) % width != 0) pairs.emplace_back(part.first + i, part.first + i + 1);
      if (i + width < part.size()) pairs.emplace_back(part.first + i, part.first + i + width);
    }
  }
  return pairs;
}

// Random distinct pairs, from too many to list.
std::vector<Pair> random_pairs(const Space& space) {
  const auto n = static_cast<double>(space.n_variables());
  std::set<Pair> found;
  for (uint64_t k = 0; static_cast<int64_t>(found.size()) < kMostPairs; ++k) {
    const auto a = static_cast<int64_t>(n * uniform_double({1, Purpose::evaluation_rows}, 2 * k));
    const auto b = static_cast<int64_t>(n * uniform_double({1, Purpose::evaluation_rows}, 2 * k + 1));
    if (a != b) found.emplace(std::min(a, b), std::max(a, b));
  }
  return some_of(space, {found.begin(), found.end()});
}

std::vector<Pair> all_pairs(int64_t n) {
  std::vector<Pair> pairs;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i + 1; j < n; ++j) pairs.emplace_back(i, j);
  return pairs;
}

}  // namespace

std::vector<PairFamily> choose_pairs(const Space& space) {
  const int64_t n = space.n_variables();
  if (n < 2) return {};
  const int64_t n_pairs = n * (n - 1) / 2;
  if (n_pairs <= kMostPairs) {
    const auto pairs = some_of(space, all_pairs(n));
    const bool all = static_cast<int64_t>(pairs.size()) == n_pairs;
    return {family(all ? "all pairs" : "random pairs", pairs, n_pairs)};
  }
  std::vector<PairFamily> families;
  if (const auto pairs = neighbours(space); !pairs.empty()) {
    families.push_back(family(space.is(PartKind::image) ? "neighbouring pixels" : "neighbours",
                              some_of(space, pairs), static_cast<int64_t>(pairs.size())));
  }
  families.push_back(family("random pairs", random_pairs(space), n_pairs));
  return families;
}

torch::Tensor MergedLabels::apply(const torch::Tensor& labels) const {
  if (place.empty()) return labels;
  auto out = labels.to(torch::kInt64).clone();
  for (int64_t i = 0; i < out.size(1); ++i) {
    const auto column = out.select(1, i);
    column.copy_(place[static_cast<size_t>(i)].index_select(0, column));
  }
  return out;
}

MergedLabels merge_rare_labels(const Space& space, const torch::Tensor& labels) {
  if (space.max_labels() <= kMostPairLabels) return {space, {}};
  std::vector<Variable> variables;
  std::vector<torch::Tensor> place;
  for (int64_t i = 0; i < space.n_variables(); ++i) {
    const int64_t c = space.n_labels(i);
    Variable variable{space.variable_name(i), std::min(c, kMostPairLabels), {}};
    place.push_back(torch::arange(c, torch::kInt64));
    if (c > kMostPairLabels) {
      const auto order = labels.select(1, i).to(torch::kInt64).bincount({}, c).argsort(/*stable=*/true, 0, true);
      place.back().index_copy_(0, order, torch::arange(c, torch::kInt64).clamp_max(kMostPairLabels - 1));
      for (int64_t k = 0; k + 1 < kMostPairLabels; ++k)
        variable.label_names.push_back(space.label_name(i, order[k].item<int64_t>()));
      variable.label_names.push_back("(any other)");
    } else {
      for (int64_t k = 0; k < c; ++k) variable.label_names.push_back(space.label_name(i, k));
    }
    variables.push_back(std::move(variable));
  }
  return {Space::table(std::move(variables)), std::move(place)};
}

Space pair_space(const Space& space, const PairFamily& pairs) {
  std::vector<Variable> variables;
  for (int64_t k = 0; k < pairs.first.numel(); ++k)
    variables.push_back(
        {concat("pair ", k + 1),
         space.n_labels(pairs.first[k].item<int64_t>()) * space.n_labels(pairs.second[k].item<int64_t>()),
         {}});
  return Space::table(std::move(variables));
}

torch::Tensor pair_labels(const Space& space, const PairFamily& pairs, const torch::Tensor& labels) {
  const auto& offsets = space.offsets();
  const auto n_labels = (offsets.slice(0, 1) - offsets.slice(0, 0, space.n_variables())).to(torch::kInt32);
  const auto first = labels.index_select(1, pairs.first).to(torch::kInt32);
  const auto second = labels.index_select(1, pairs.second).to(torch::kInt32);
  return (first * n_labels.index_select(0, pairs.second) + second).to(label_type(pair_space(space, pairs)));
}

double dependence(const Space& space, const PairFamily& pairs, const torch::Tensor& shares) {
  double sum = 0.0;
  int64_t start = 0;
  for (int64_t k = 0; k < pairs.first.numel(); ++k) {
    const int64_t a = space.n_labels(pairs.first[k].item<int64_t>());
    const int64_t b = space.n_labels(pairs.second[k].item<int64_t>());
    const auto joint = shares.slice(0, start, start + a * b).view({a, b});
    sum += 0.5 * (joint - joint.sum(1, true) * joint.sum(0, true)).abs().sum().item<double>();
    start += a * b;
  }
  return sum / static_cast<double>(pairs.first.numel());
}

}  // namespace segre
