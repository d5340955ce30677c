#pragma once

#include "segre/config/schema.h"
#include "segre/flow/integrator.h"
#include "segre/flow/state_blocks.h"

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

/// What the network of a trained run computes with where it samples.
enum class SamplePrecision {
  float32,
  trained,  ///< what it was trained with on such a machine: bfloat16 on CPUs that multiply it fast
};

struct SampleOptions {
  std::string sampler = "rk4";  ///< see sampler_kinds()
  int64_t steps = 5;            ///< of equal length in t; dopri5 chooses its own; erasure: evaluations
  Stop stop = Stop::decision;
  double t1 = 0.0;  ///< stop at this time instead; 0: use `stop`
  Readout readout = Readout::argmax;
  double tolerance = 1e-3;                               ///< error per step, relative to 1 + |v| (dopri5)
  FillOrder order = FillOrder::random;                   ///< in which cells are filled in (erasure)
  SamplePrecision precision = SamplePrecision::float32;  ///< see sampling_flow; a Sampler's flow has its own
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

/// Noise -> flow -> labels. Sample k is a function of (seed, k): the field runs on whole blocks of rows_per_block()
/// consecutive samples, and a request receives its part of them, since a matrix product may round a row differently in
/// batches of another size. A small request runs on parts of a block where these have been seen to give the same bits,
/// see FewRows. Threads may share it.
class Sampler {
 public:
  Sampler(Flow flow, const SampleOptions& options, uint64_t seed);
  Sampler(const Model& model, const SampleOptions& options, uint64_t seed);

  /// Samples first ... first + count - 1, count >= 0. Error if the flow produces non-finite numbers.
  Samples draw(uint64_t first, int64_t count) const;
  /// Completes items: samples first ... of p(x | known), one for each row of `known`, whose known labels they repeat.
  /// Completion k depends on the seed, k, `draw` and row k alone; draw 0 of rows with nothing known is sample k. Labels
  /// of variables left out are kUnknown. InputError unless the flow accepts known labels.
  Samples complete(const Known& known, uint64_t first, int64_t draw) const;
  /// The labels of draws from_draw ... from_draw + draws - 1 of complete(): [B, draws, n] int64. Draws of few rows
  /// share blocks, which changes them by rounding at most.
  torch::Tensor completions(const Known& known, uint64_t first, int64_t from_draw, int64_t draws) const;
  /// The marginals p(x_i = j | known) of the open variables, one evaluation per row: [B, S] float64 on the CPU. Row k
  /// depends on its number, first + k, only by rounding.
  torch::Tensor probabilities(const Known& known, uint64_t first) const;
  /// Time of the readout.
  double t1() const { return times().back(); }
  int64_t rows_per_block() const { return rows_; }
  const Space& space() const { return flow_.space; }
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
  /// Rows of a request that are computed together: consecutive samples, a whole block or a few of its rows.
  struct Part {
    uint64_t start;      // its first sample
    int64_t rows;        // how many are computed
    int64_t begin, end;  // those that are requested
    int64_t first;       // row of the request
  };
  enum class Work { draw, marginals };
  std::vector<Part> parts_of(uint64_t first, int64_t count, Work work, const Known& known) const;
  std::vector<Rows> cuts_of(int64_t begin, int64_t end, Work work, const Known& known) const;
  int64_t check_known(const Known& known) const;
  Known block_of(const Known& known, const Part& part) const;
  Block draw_block(const Known& known, const std::vector<NumberedRows>& parts) const;
  Samples draw_parts(uint64_t first, int64_t count, const Known& known, uint64_t seed) const;
  torch::Tensor noise(const NumberedRows& rows) const;
  torch::Tensor log_probability(const torch::Tensor& v, const Known& known) const;
  torch::Tensor count_undecided(const torch::Tensor& v, const Known& known) const;
  torch::Tensor read(const torch::Tensor& v, const Departure& from) const;

  Flow flow_;
  SampleOptions options_;
  uint64_t seed_;
  int64_t rows_;
  std::shared_ptr<const Integrator> integrator_;
  std::shared_ptr<const StateBlocks> marginals_;
};

}  // namespace segre
