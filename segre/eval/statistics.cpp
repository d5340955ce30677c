#include "segre/eval/statistics.h"

#include <cmath>

#include "segre/core/error.h"
#include "segre/core/rng.h"

namespace segre {
namespace {

using torch::indexing::Slice;

constexpr int64_t kIndicatorFloats = int64_t{1} << 25;  // of indicators at a time: 128 MB
constexpr int64_t kMostItems = int64_t{1} << 24;        // counts stay exact in float32
constexpr double kTestLevel = 0.95;

// Which items are in the first set: row 0 as observed, the others at random. [1 + kPermutations, N + M] float32.
torch::Tensor deal_out(int64_t N, int64_t M, uint64_t seed) {
  auto groups = torch::zeros({1 + FrequencyComparison::kPermutations, N + M});
  groups.index_put_({0, Slice(0, N)}, 1.0f);
  auto keys = torch::empty({N + M});
  for (int64_t k = 0; k < FrequencyComparison::kPermutations; ++k) {
    fill_uniform(keys, {seed, Purpose::evaluation_rows}, static_cast<uint64_t>(k * (N + M)));
    groups[1 + k].index_fill_(0, torch::argsort(keys, /*stable=*/true, 0, false).slice(0, 0, N), 1.0f);
  }
  return groups;
}

// Which items have the labels of coordinates first ... first + count - 1: [items, count] float32.
torch::Tensor indicators(const Space& space, const torch::Tensor& labels, int64_t first, int64_t count) {
  const auto& variable_of = space.variable_of_coordinate(torch::kCPU);
  const int64_t from = variable_of[first].item<int64_t>();
  const int64_t to = variable_of[first + count - 1].item<int64_t>() + 1;
  auto place = labels.slice(1, from, to).to(torch::kInt64) + (space.starts(torch::kCPU).slice(0, from, to) - first);
  // A variable may extend past the block; labels outside go to an extra column that is cut off.
  place = torch::where((place < 0).logical_or(place >= count), torch::full_like(place, count), place);
  return torch::zeros({labels.size(0), count + 1}).scatter_(1, place, 1.0f).slice(1, 0, count);
}

// Running sums over blocks, one entry per row of the groups.
struct Running {
  torch::Tensor total_variation, largest;  // [1 + kPermutations]
  torch::Tensor influence;                 // [items]: each item's contribution to the observed difference
  std::vector<torch::Tensor> samples, held_out, standardised;
};

void add_block(Running& running, const torch::Tensor& groups, const torch::Tensor& X, double N, double M) {
  const auto counts = groups.matmul(X).to(torch::kFloat64);  // whole numbers below 2^24: exact
  const auto totals = X.sum(0, false, torch::kFloat64);
  const auto of_samples = counts / N;
  const auto of_held_out = (totals - counts) / M;
  const auto difference = of_samples - of_held_out;
  running.total_variation += 0.5 * difference.abs().sum(1);
  running.influence += 0.5 * X.matmul(difference[0].sign().to(torch::kFloat32)).to(torch::kFloat64);

  const auto p = totals / (N + M);
  const double fewer = std::min(N, M);
  const auto common =
      (fewer * p >= FrequencyComparison::kFewest).logical_and(fewer * (1.0 - p) >= FrequencyComparison::kFewest);
  const auto error = (p * (1.0 - p) * (1.0 / N + 1.0 / M)).sqrt();
  const auto standardised = torch::where(common, difference.abs() / error, torch::zeros_like(difference));
  running.largest = torch::maximum(running.largest, standardised.amax(1));
  running.samples.push_back(of_samples[0].clone());
  running.held_out.push_back(of_held_out[0].clone());
  running.standardised.push_back(standardised[0].clone());
}

// Mean and 95% quantile of the permutations' values, which follow the observed one.
Estimate floor_of(const torch::Tensor& values) {
  const auto dealt = values.slice(0, 1).contiguous();
  Estimate floor;
  floor.value = dealt.mean().item<double>();
  floor.high = quantile_of({dealt.data_ptr<double>(), dealt.data_ptr<double>() + dealt.numel()}, kTestLevel);
  return floor;
}

void judge(FrequencyComparison& out, const Space& space, const Running& running) {
  const auto standardised = torch::cat(running.standardised);
  out.largest = running.largest[0].item<double>();
  out.largest_floor = floor_of(running.largest);
  if (out.largest > 0.0) out.largest_at = standardised.argmax().item<int64_t>();
  const auto beyond = (standardised > out.largest_floor.high).to(torch::kInt64);
  const auto per_variable = torch::zeros({space.n_variables()}, torch::kInt64)
                                .index_add_(0, space.variable_of_coordinate(torch::kCPU), beyond);
  out.n_significant = (per_variable > 0).sum().item<int64_t>();
  out.significant = static_cast<double>(out.n_significant) / static_cast<double>(space.n_variables());
}

}  // namespace

FrequencyComparison compare_frequencies(const Space& space, const torch::Tensor& samples, const torch::Tensor& held_out,
                                        uint64_t seed) {
  const int64_t N = samples.size(0);
  const int64_t M = held_out.size(0);
  if (N < 2 || M < 2) fail_input("comparing frequencies needs at least two items each, found ", N, " and ", M);
  if (N + M > kMostItems) fail_input("frequencies are compared for at most ", kMostItems, " items, found ", N + M);
  const auto labels = torch::cat({samples, held_out});
  const auto groups = deal_out(N, M, seed);
  Running running{torch::zeros({groups.size(0)}, torch::kFloat64),
                  torch::zeros({groups.size(0)}, torch::kFloat64),
                  torch::zeros({N + M}, torch::kFloat64),
                  {},
                  {},
                  {}};
  const int64_t block = std::max<int64_t>(1, kIndicatorFloats / (N + M));
  for (int64_t first = 0; first < space.n_coordinates(); first += block) {
    const int64_t count = std::min(block, space.n_coordinates() - first);
    add_block(running, groups, indicators(space, labels, first, count), static_cast<double>(N), static_cast<double>(M));
  }
  FrequencyComparison out;
  out.samples = torch::cat(running.samples);
  out.held_out = torch::cat(running.held_out);
  const auto n = static_cast<double>(space.n_variables());
  const double variance = running.influence.slice(0, 0, N).var().item<double>() / static_cast<double>(N) +
                          running.influence.slice(0, N).var().item<double>() / static_cast<double>(M);
  out.difference = normal_estimate(running.total_variation[0].item<double>() / n, std::sqrt(variance) / n, 0.0, 1.0);
  out.difference_floor = floor_of(running.total_variation / n);
  judge(out, space, running);
  return out;
}

double mean_difference(const Space& space, const torch::Tensor& items, const torch::Tensor& held_out) {
  const auto shares = [&](const torch::Tensor& labels) {
    auto counts = torch::zeros({space.n_coordinates()}, torch::kFloat64);
    for (int64_t i = 0; i < space.n_variables(); ++i)
      counts.slice(0, space.offset(i), space.offset(i) + space.n_labels(i)) +=
          labels.select(1, i).to(torch::kInt64).bincount({}, space.n_labels(i));
    return counts / static_cast<double>(labels.size(0));
  };
  return 0.5 * (shares(items) - shares(held_out)).abs().sum().item<double>() / static_cast<double>(space.n_variables());
}

int64_t background_label(const Space& space, const torch::Tensor& labels) {
  return labels.reshape({-1}).to(torch::kInt64).bincount({}, space.max_labels()).argmax().item<int64_t>();
}

ImageStatistics image_statistics(const Space& space, const torch::Tensor& labels, int64_t background) {
  if (!space.is(PartKind::image)) fail_input("image statistics need images, found: ", space.describe());
  const int64_t height = space.item_shape()[0];
  const int64_t width = space.item_shape()[1];
  const auto map = labels.view({-1, height, width});
  const auto differ = [&](int64_t axis) {
    const int64_t length = map.size(axis);
    return (map.slice(axis, 1) != map.slice(axis, 0, length - 1)).sum({1, 2}).to(torch::kFloat64);
  };
  const int64_t pairs = height * (width - 1) + (height - 1) * width;
  return {(labels != background).sum(1).to(torch::kFloat64),
          (differ(1) + differ(2)) / static_cast<double>(std::max<int64_t>(1, pairs))};
}

}  // namespace segre
