#pragma once

#include "segre/core/rng.h"
#include "segre/data/source.h"

namespace segre {

/// Added to probabilities before their logarithm, so that it stays finite for a corner or a message that vanishes; far
/// below any probability that samples could reveal.
inline constexpr double kLeastProbability = 1e-20;

/// Hands out consecutive stretches of the initial-weights stream, so the weights depend only on the seed.
class WeightSource {
 public:
  explicit WeightSource(uint64_t seed) : random_(seed, Purpose::initial_weights) {}
  /// Uniform on [-bound, bound].
  torch::Tensor uniform(at::IntArrayRef shape, double bound);
  /// Standard normal.
  torch::Tensor normal(at::IntArrayRef shape);

 private:
  RandomStream random_;
  uint64_t next_ = 0;
};

/// sin and cos of (k + 1) pi t / 2 for k below n: t [B] -> [B, 2 n]. Half a period of the slowest spans t in [0, 2].
torch::Tensor time_features(const torch::Tensor& t, int64_t n);

/// Logarithms of the label frequencies of a source, with one more count spread over the labels of each variable: [S],
/// or [c] for all variables together if `shared`. A message to start from: without evidence it is the best that
/// independent variables can do. Counts at most some hundred thousand items.
torch::Tensor log_frequencies(const DataSource& source, bool shared);

}  // namespace segre
