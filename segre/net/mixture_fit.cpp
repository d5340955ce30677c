#include "segre/net/mixture_fit.h"

#include <algorithm>
#include <limits>

#include "segre/data/label_counts.h"
#include "segre/net/layers.h"
#include "segre/space/blocks.h"
#include "segre/space/check_labels.h"

namespace segre {
namespace {

constexpr int64_t kRows = 100'000;
constexpr int64_t kChunk = 4096;      // rows whose labels are spread out at a time
constexpr int64_t kCheckEvery = 10;   // every tenth row decides when to stop
constexpr int64_t kMostRounds = 100;  // of expectation and maximisation

// Labels as rows of 0 and 1, all 0 for an unknown one: [B, n] int64 -> [B, S] float32.
torch::Tensor hot_rows(const Space& space, const torch::Tensor& labels) {
  return one_hot(space, labels.clamp_min(0), torch::kFloat32) * spread(space, (labels >= 0).to(torch::kFloat32));
}

// The log-probability of each row with each class: [B, K].
torch::Tensor joint_log_probability(const FittedMixture& mixture, const torch::Tensor& hot) {
  return torch::addmm(mixture.class_logits, hot, mixture.label_logits.t());
}

// The rows to fit and those to check, [N, n] int64 each.
std::pair<torch::Tensor, torch::Tensor> split(const DataSource& source) {
  std::vector<torch::Tensor> parts;
  for_some_items(source, kRows, kRows, [&](const torch::Tensor& part) { parts.push_back(part); });
  const auto labels = torch::cat(parts);
  check_labels(source.space(), labels, Unknowns::allow);  // the source may be the user's own
  const auto checked = torch::arange(labels.size(0)).remainder(kCheckEvery) == kCheckEvery - 1;
  return {labels.index({checked.logical_not()}), labels.index({checked})};
}

// Half of one row, half of the marginals.
FittedMixture start(const Space& space, const torch::Tensor& labels, const torch::Tensor& marginals, int64_t K) {
  const auto rows = torch::arange(K) * labels.size(0) / K;
  const auto picked = labels.index_select(0, rows.to(torch::kInt64));
  const auto known = spread(space, (picked >= 0).to(torch::kFloat32));
  const auto q = marginals * (1.0 - 0.5 * known) + 0.5 * hot_rows(space, picked);
  return {torch::zeros({K}).log_softmax(0), (q + kLeastProbability).log()};
}

// One round: the classes that the rows belong to, then the probabilities that these rows have.
FittedMixture improved(const Space& space, const FittedMixture& before, const torch::Tensor& labels,
                       const torch::Tensor& marginals) {
  auto sizes = torch::ones_like(before.class_logits);
  auto counts = marginals.expand_as(before.label_logits).clone();  // one count, spread like the labels
  for (int64_t from = 0; from < labels.size(0); from += kChunk) {
    const auto hot = hot_rows(space, labels.slice(0, from, std::min(from + kChunk, labels.size(0))));
    const auto belongs = joint_log_probability(before, hot).softmax(1);  // [B, K]
    sizes += belongs.sum(0);
    counts += belongs.t().mm(hot);
  }
  const auto q = map_blocks(space, {counts}, [](const auto& in) { return in[0] / in[0].sum(-1, /*keepdim=*/true); });
  return {(sizes / sizes.sum()).log(), (q + kLeastProbability).log()};
}

}  // namespace

bool can_fit_mixture(const DataSource& source, int64_t n_classes) {
  constexpr double kMostNumbers = 2e9;  // rows x labels x classes of a round
  const auto rows = static_cast<double>(std::min(kRows, source.n_items()));
  const double numbers = rows * static_cast<double>(source.space().n_coordinates() * n_classes);
  return source.n_items() >= 2 * n_classes && source.n_items() >= 2 * kCheckEvery && numbers <= kMostNumbers;
}

double mean_log_probability(const Space& space, const FittedMixture& mixture, const torch::Tensor& labels) {
  double total = 0.0;
  for (int64_t from = 0; from < labels.size(0); from += kChunk) {
    const auto hot = hot_rows(space, labels.slice(0, from, std::min(from + kChunk, labels.size(0))));
    total += joint_log_probability(mixture, hot).logsumexp(1).sum().item<double>();
  }
  return total / static_cast<double>(labels.size(0));
}

FittedMixture fit_mixture(const DataSource& source, int64_t n_classes) {
  const torch::NoGradGuard no_grad;
  const Space& space = source.space();
  const auto [fitted, checked] = split(source);
  const auto marginals = log_frequencies(source, /*shared=*/false).exp();  // [S]
  FittedMixture mixture = start(space, fitted, marginals, n_classes);
  FittedMixture best = mixture;
  double best_nats = -std::numeric_limits<double>::infinity();
  for (int64_t round = 0; round < kMostRounds; ++round) {
    mixture = improved(space, mixture, fitted, marginals);
    const double nats = mean_log_probability(space, mixture, checked);
    if (!(nats > best_nats)) break;
    best = mixture;
    best_nats = nats;
  }
  return best;
}

}  // namespace segre
