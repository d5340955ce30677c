#pragma once

#include "segre/core/rng.h"
#include "segre/io/safetensors.h"
#include "segre/path/path.h"
#include "segre/path/time_density.h"

namespace segre {

/// Where training looks along the path.
enum class TimeLawKind {
  uniform,      ///< t uniform on [0, 1], the paper's
  decision,     ///< t uniform on [0, t1]: nothing is decided after the decision time t1
  information,  ///< t on [0, t1] in proportion to where labels are decided, learned as training goes
};

/// Draws times for training. The information law samples more where the integrand of the likelihood bound,
/// 1/2 d/dt(a^2/s^2) |u_beta - D|^2, is large: a histogram over [0, t1], an average over past batches that starts from
/// the first of them. Its objective is then the mean over that law; with `reweight` items carry the weight
/// (1/t1)/density(t), which makes it the mean over uniform times again (on the toys a little less accurate). Times are
/// stratified: item b of B has the b-th of B equal shares of probability.
class TimeLaw {
 public:
  /// Bins of the histogram.
  static constexpr int kBins = 64;

  /// `options` say where it works: all of it is tensor operations there, so a captured CUDA step needs no host.
  TimeLaw(TimeLawKind kind, std::shared_ptr<const Path> path, double t1, bool reweight = false,
          torch::TensorOptions options = torch::kFloat32);

  struct Draw {
    torch::Tensor t;       ///< [B]
    torch::Tensor weight;  ///< [B]
  };
  /// Uniform numbers of the items first_item ... of the stream, one batch, rising: [count] float32 on the CPU.
  static torch::Tensor uniforms(const RandomStream& random, uint64_t first_item, int64_t count);
  /// The times where the law's distribution function has the values u [B].
  Draw at(const torch::Tensor& u) const;
  /// Learns from a batch: the times and |u_beta - D|^2 there. Does nothing for the uniform law, whose times reach t
  /// = 1.
  void learn(const torch::Tensor& t, const torch::Tensor& error);
  /// The running integral of the information over [0, t1], in nats: up to misread labels the simulation-free bound on
  /// -log p, averaged over recent items. Falls to the entropy of the data. NaN for the uniform law.
  double nats() const;
  /// Largest time drawn.
  double t_max() const { return t_max_; }
  /// The density of times that spends evaluations best on the bound's integrand, from a checkpoint's state: in
  /// proportion to the root of the information, whose noise is like that of a count. Uniform on [0, t1] where the state
  /// holds no law.
  static TimeDensity spread(const NamedTensors& state, double t1);
  /// Names of the law's tensors in checkpoints.
  static std::vector<std::string> state_names();
  /// The learned histogram, for checkpoints.
  NamedTensors state() const;
  void load(const NamedTensors& state);

 private:
  torch::Tensor information() const;  // [bins], the running mean, or that of all bins where a bin has seen nothing

  TimeLawKind kind_;
  std::shared_ptr<const Path> path_;
  double t_max_;
  bool reweight_;
  torch::TensorOptions options_;
  // Per bin of [0, t1], float64: running sum of the information and of its weights, both decaying alike.
  torch::Tensor sum_, mass_;
};

}  // namespace segre
