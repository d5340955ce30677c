#pragma once

#include "segre/core/rng.h"
#include "segre/io/safetensors.h"
#include "segre/path/path.h"

namespace segre {

/// Where training looks along the path.
enum class TimeLawKind {
  uniform,      ///< t uniform on [0, 1], the paper's
  decision,     ///< t uniform on [0, t1]: nothing is decided after the decision time t1
  information,  ///< t on [0, t1] in proportion to where labels are decided, learned as training goes
};

/// Draws times for training. The information law samples more where the integrand of the likelihood bound,
/// 1/2 d/dt(a^2/s^2) |u_beta - D|^2, is large: a histogram over [0, t1], an average over past batches. Its objective is
/// then the mean over that law; with `reweight` items carry the weight (1/t1)/density(t), which makes it the mean over
/// uniform times again (on the toys a little less accurate). Times are
/// stratified: item b of B has the b-th of B equal shares of probability.
class TimeLaw {
 public:
  TimeLaw(TimeLawKind kind, std::shared_ptr<const Path> path, double t1, bool reweight = false);

  struct Draw {
    torch::Tensor t;       ///< [B]
    torch::Tensor weight;  ///< [B]
  };
  /// Times of the items first_item ... of the stream, one batch.
  Draw draw(const RandomStream& random, uint64_t first_item, int64_t count, torch::TensorOptions options) const;
  /// Learns from a batch: the times and |u_beta - D|^2 there. Does nothing for the uniform law, whose times reach t
  /// = 1.
  void learn(const torch::Tensor& t, const torch::Tensor& error);
  /// The running integral of the information over [0, t1], in nats: up to misread labels the simulation-free bound on
  /// -log p, averaged over recent items. Falls to the entropy of the data. NaN for the uniform law.
  double nats() const;
  /// Largest time drawn.
  double t_max() const { return t_max_; }
  /// The learned histogram, for checkpoints.
  NamedTensors state() const;
  void load(const NamedTensors& state);

 private:
  std::vector<double> shares() const;  // probability of each bin

  TimeLawKind kind_;
  std::shared_ptr<const Path> path_;
  double t_max_;
  bool reweight_;
  std::vector<double> information_;  // per bin of [0, t1], running mean
};

}  // namespace segre
