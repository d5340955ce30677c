#pragma once  // internal

#include "segre/core/rng.h"
#include "segre/path/path.h"
#include "segre/path/time_density.h"

namespace segre {

/// Where along the path training draws its times.
enum class TimeLawKind {
  uniform,      ///< t uniform on [0, 1], the paper's
  decision,     ///< t uniform on [0, t1]: nothing is decided after the decision time t1
  information,  ///< t on [0, t1], more often where labels are decided; learned during training
};

/// Draws times for training. The information law samples more where the integrand of the likelihood bound,
/// 1/2 d/dt(a^2/s^2) |u_beta - D|^2, is large, using a histogram over [0, t1] averaged over past batches, starting with
/// the first. The objective is then the mean over that law; with `reweight`, items are weighted by (1/t1)/density(t),
/// which restores the mean over uniform times (slightly less accurate on the toys). Times are stratified: item b of B
/// gets the b-th of B equal shares of probability.
class TimeLaw {
 public:
  /// Bins of the histogram.
  static constexpr int kBins = 64;

  /// All of it is done on the device of `options`, so a captured CUDA step does not need the host.
  TimeLaw(TimeLawKind kind, std::shared_ptr<const Path> path, double t1, bool reweight = false,
          torch::TensorOptions options = torch::kFloat32);

  struct Draw {
    torch::Tensor t;       ///< [B]
    torch::Tensor weight;  ///< [B]
  };
  /// Uniform numbers for one batch, items first_item ... of the stream, ascending: [count] float32 on the CPU.
  static torch::Tensor uniforms(const RandomStream& random, uint64_t first_item, int64_t count);
  /// The times at which the law's distribution function equals u [B]. The information law uses kernels::draw_times on
  /// CUDA, else tensor operations.
  Draw at(const torch::Tensor& u) const;
  /// Learns from a batch: its times and |u_beta - D|^2 at them, from the items marked by `which` [B] bool, or all. Does
  /// nothing for the uniform law, which reaches t = 1.
  void learn(const torch::Tensor& t, const torch::Tensor& error, const torch::Tensor& which = {});
  /// The running integral of the information over [0, t1], in nats: up to misread labels, the simulation-free bound on
  /// -log p, averaged over recent items. Falls towards the entropy of the data. NaN for the uniform law.
  double nats() const;
  /// Largest time drawn.
  double t_max() const { return t_max_; }
  /// The best density of times for estimating the integral of the bound, from a checkpoint's state: proportional to the
  /// root of the information, whose noise is like that of a count. Uniform on [0, t1] if the state holds no law.
  static TimeDensity spread(const NamedTensors& state, double t1);
  /// Names of the law's tensors in checkpoints.
  static std::vector<std::string> state_names();
  /// The learned histogram, for checkpoints.
  NamedTensors state() const;
  void load(const NamedTensors& state);

 private:
  torch::Tensor information() const;  // [bins], the running mean; for a bin without data, that of all bins

  TimeLawKind kind_;
  std::shared_ptr<const Path> path_;
  double t_max_;
  bool reweight_;
  torch::TensorOptions options_;
  // Per bin of [0, t1], float64: running sums of the information and of its weights, with the same decay.
  torch::Tensor sum_, mass_;
};

}  // namespace segre
