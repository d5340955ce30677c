#include "segre/net/tree_fit.h"

#include <algorithm>

#include "segre/core/error.h"
#include "segre/core/memory.h"
#include "segre/data/label_counts.h"
#include "segre/space/blocks.h"
#include "segre/space/check_labels.h"

namespace segre {
namespace {

// How often each pair of labels occurs together: [S, S] float64, from at most kRows items.
torch::Tensor count_pairs(const DataSource& source, const FillLabels& fill) {
  constexpr int64_t kRows = 100'000;
  constexpr int64_t kChunk = 4096;
  const Space& space = source.space();
  const int64_t S = space.n_coordinates();
  auto pairs = torch::zeros({S, S}, torch::kFloat64);
  int64_t first = 0;
  for_some_items(source, kRows, kChunk, [&](const torch::Tensor& items) {
    check_labels(space, items, Unknowns::allow);  // the source may be the user's own
    const auto labels = fill ? fill(items, first) : items;
    first += items.size(0);
    auto hot = one_hot(space, labels.clamp_min(0), torch::kFloat32);
    hot = hot * spread(space, (labels >= 0).to(torch::kFloat32));
    pairs += hot.t().mm(hot);  // counts below 2^24 are exact in float32
  });
  return pairs;
}

// Sums over the labels of both variables: [S, S] -> [n, n].
torch::Tensor sum_by_variable(const Space& space, const torch::Tensor& x) {
  const auto& variable = space.variable_of_coordinate(torch::kCPU);
  const int64_t n = space.n_variables();
  const auto rows = torch::zeros({n, x.size(1)}, x.options()).index_add_(0, variable, x);
  return torch::zeros({n, n}, x.options()).index_add_(1, variable, rows);
}

// Mutual information of all pairs in nats, less (c_i - 1)(c_j - 1) log N / 2N: what the edge's parameters cost by the
// Bayesian information criterion. Independent variables seldom have as much by chance.
torch::Tensor information_of(const Space& space, const torch::Tensor& pairs) {
  const auto total = sum_by_variable(space, pairs).clamp_min(1.0);  // [n, n]
  const auto& variable = space.variable_of_coordinate(torch::kCPU);
  const auto spread_total = total.index_select(0, variable).index_select(1, variable);
  const auto joint = pairs / spread_total;
  // Marginals among the items that have both labels.
  const int64_t n = space.n_variables();
  const auto first = torch::zeros({pairs.size(0), n}, pairs.options()).index_add_(1, variable, joint);
  const auto second = torch::zeros({n, pairs.size(1)}, pairs.options()).index_add_(0, variable, joint);
  const auto independent = first.index_select(1, variable) * second.index_select(0, variable);
  const auto terms = torch::where(joint > 0.0, joint * (joint / independent.clamp_min(1e-300)).log(), 0.0);
  auto freedom = torch::empty({n}, torch::kFloat64);
  for (int64_t i = 0; i < n; ++i) freedom[i] = static_cast<double>(space.n_labels(i) - 1);
  return sum_by_variable(space, terms) - torch::outer(freedom, freedom) * total.log() / (2.0 * total);
}

// The maximum spanning forest of positive weights, by Prim's algorithm: the parent of each variable, or -1.
std::vector<int64_t> spanning_forest(const torch::Tensor& weights) {
  const int64_t n = weights.size(0);
  const auto w = weights.contiguous();
  const auto* at = w.data_ptr<double>();
  std::vector<int64_t> parents(n, -1);
  std::vector<double> best(n, 0.0);
  std::vector<bool> joined(n, false);
  for (int64_t step = 0; step < n; ++step) {
    int64_t next = -1;
    for (int64_t i = 0; i < n; ++i)
      if (!joined[i] && (next < 0 || best[i] > best[next])) next = i;
    joined[next] = true;
    for (int64_t i = 0; i < n; ++i)
      if (!joined[i] && at[next * n + i] > best[i]) {
        best[i] = at[next * n + i];
        parents[i] = next;
      }
  }
  return parents;
}

}  // namespace

CountedTree count_tree(const DataSource& source, const FillLabels& fill, const std::vector<int64_t>& apart) {
  const Space& space = source.space();
  if (space.n_coordinates() > kMostPaired)
    fail_input("net.kind = \"tree\" counts all pairs of labels, at most ", kMostPaired, " labels in all; the ",
               space.describe(), " has ", space.n_coordinates());
  constexpr double kMatrices = 8.0;  // of all pairs, alive at once
  const auto S = static_cast<double>(space.n_coordinates());
  require_memory(8.0 * kMatrices * S * S, concat("counting the pairs of the ", space.describe()), torch::kCPU);
  const int64_t n = space.n_variables();
  const int64_t width = space.max_labels();
  const auto pairs = count_pairs(source, fill);
  auto information = information_of(space, pairs);
  for (const int64_t i : apart) {
    information.select(0, i).zero_();
    information.select(1, i).zero_();
  }
  CountedTree tree{spanning_forest(information), torch::zeros({n, width}, torch::kFloat64),
                   torch::zeros({n, width, width}, torch::kFloat64)};
  for (int64_t i = 0; i < n; ++i) {
    const int64_t c = space.n_labels(i);
    const auto own = pairs.narrow(0, space.offset(i), c).narrow(1, space.offset(i), c).diagonal();
    const auto frequency = (own + 1.0 / static_cast<double>(c)) / (own.sum() + 1.0);
    tree.marginals[i].narrow(0, 0, c).copy_(frequency);
    const int64_t parent = tree.parents[i];
    if (parent < 0) continue;
    const int64_t c_parent = space.n_labels(parent);
    const auto counts = pairs.narrow(0, space.offset(parent), c_parent).narrow(1, space.offset(i), c) + frequency;
    tree.tables[i].narrow(0, 0, c_parent).narrow(1, 0, c).copy_(counts / counts.sum(1, /*keepdim=*/true));
  }
  return tree;
}

}  // namespace segre
