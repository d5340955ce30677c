#pragma once

#include "segre/flow/stepper.h"
#include "segre/model/model.h"

namespace segre {

/// Where sampling stops and labels are read.
enum class Stop {
  decision,  ///< at the decision time: labels are decided, the rest of the path would change none of them
  end,       ///< at t = 1, as in the paper
};

/// How labels are read from the last state.
enum class Readout {
  argmax,   ///< the largest coordinate of each variable
  matched,  ///< drawn from the Bayes rule of the path, softmax(kappa a v / s^2); from softmax(v) at t = 1
};

struct SampleOptions {
  std::string sampler = "rk4";  ///< euler, midpoint, heun, rk4
  int64_t steps = 5;            ///< of equal length in t
  Stop stop = Stop::decision;
  double t1 = 0.0;  ///< stop here instead; 0: where `stop` says
  Readout readout = Readout::argmax;
};

/// Labels and what they took.
struct Samples {
  torch::Tensor labels;     ///< [count, n] int64, on the CPU
  int64_t n_undecided = 0;  ///< variables whose label had less than kDecided probability at the readout
};

/// Below this probability of its label a variable counts as undecided.
inline constexpr double kDecided = 0.99;

/// Noise -> flow -> labels. Sample k is a function of (seed, k): the field always runs on whole blocks of
/// rows_per_block() consecutive samples, of which a request gets its part, since a matrix product may round a row
/// differently in batches of another size.
class Sampler {
 public:
  Sampler(Model model, const SampleOptions& options, uint64_t seed);

  /// Samples first ... first + count - 1.
  Samples draw(uint64_t first, int64_t count) const;
  /// Evaluations of the field per sample.
  int64_t n_evaluations() const;
  /// Time of the readout.
  double t1() const { return times_.back(); }
  int64_t rows_per_block() const { return rows_; }
  /// States along the way, [times, count, S], of samples 0 ... count - 1; for pictures of the flow.
  torch::Tensor trajectories(int64_t count) const;
  const std::vector<double>& times() const { return times_; }

 private:
  torch::Tensor flow(const torch::Tensor& v_0, const std::function<void(const torch::Tensor&, double)>& observe) const;
  struct Block {
    torch::Tensor labels;       // [rows, n]
    torch::Tensor n_undecided;  // [rows]
  };
  Block draw_block(uint64_t block) const;
  torch::Tensor noise(uint64_t first, int64_t count) const;

  Model model_;
  SampleOptions options_;
  uint64_t seed_;
  std::vector<double> times_;
  int64_t rows_;
};

}  // namespace segre
