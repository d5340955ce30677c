#pragma once

#include "segre/config/schema.h"
#include "segre/flow/integrator.h"

namespace segre {

/// When sampling stops and labels are read.
enum class Stop {
  decision,  ///< at the decision time: labels are decided, and the rest of the path would not change them
  end,       ///< at t = 1, as in the paper
};

/// How labels are read from the last state.
enum class Readout {
  argmax,   ///< the largest coordinate of each variable
  matched,  ///< drawn by the path's Bayes rule, softmax(kappa a v / s^2); from softmax(v) at t = 1
  segre,    ///< drawn from T(W), W = softmax(v): the factorising distribution that the state represents in the paper.
            ///< Before t = 1 it is wider than the state's posterior over labels
};

struct SampleOptions {
  std::string sampler = "rk4";  ///< see sampler_kinds()
  int64_t steps = 5;            ///< of equal length in t; dopri5 chooses its own
  Stop stop = Stop::decision;
  double t1 = 0.0;  ///< stop at this time instead; 0: use `stop`
  Readout readout = Readout::argmax;
  double tolerance = 1e-3;  ///< error per step, relative to 1 + |v| (dopri5)
};

/// Declares the keys sample.*.
void declare_sample_keys(ConfigSchema& schema, SampleOptions& options);

/// Labels and their cost.
struct Samples {
  torch::Tensor labels;       ///< [count, n] int64, on the CPU
  int64_t n_undecided = 0;    ///< variables whose most likely label has probability below kDecided given the last
                              ///< state, for any readout
  int64_t n_evaluations = 0;  ///< of the field, over all samples; with dopri5 it varies from sample to sample
};

/// A variable whose most likely label has a lower probability counts as undecided. The probability is that of the
/// path's Bayes rule or, at the path's end, of the mean corner on which every sampler lands.
inline constexpr double kDecided = 0.99;

/// Noise -> flow -> labels. Sample k is a function of (seed, k): the field always runs on whole blocks of
/// rows_per_block() consecutive samples, and a request receives its part of them, since a matrix product may round a
/// row differently in batches of another size.
class Sampler {
 public:
  Sampler(Flow flow, const SampleOptions& options, uint64_t seed);
  Sampler(const Model& model, const SampleOptions& options, uint64_t seed);

  /// Samples first ... first + count - 1, count >= 0. Error if the flow produces non-finite numbers.
  Samples draw(uint64_t first, int64_t count) const;
  /// Time of the readout.
  double t1() const { return times().back(); }
  int64_t rows_per_block() const { return rows_; }
  /// States of samples 0 ... count - 1 along the way, [times, count, S]; for pictures of the flow.
  torch::Tensor trajectories(int64_t count) const;
  /// Their times: those of every step; with dopri5, whose samples have individual times, the first and the last.
  const std::vector<double>& times() const { return integrator_->times(); }

 private:
  struct Block {
    torch::Tensor labels;         // [rows, n]
    torch::Tensor n_undecided;    // [rows]
    torch::Tensor n_evaluations;  // [rows]
  };
  Block draw_block(uint64_t block) const;
  torch::Tensor noise(uint64_t first, int64_t count) const;
  torch::Tensor log_probability(const torch::Tensor& v) const;
  torch::Tensor count_undecided(const torch::Tensor& v) const;
  torch::Tensor read(const torch::Tensor& v, uint64_t first) const;

  Flow flow_;
  SampleOptions options_;
  uint64_t seed_;
  int64_t rows_;
  std::shared_ptr<const Integrator> integrator_;
};

}  // namespace segre
