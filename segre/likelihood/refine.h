#pragma once

#include <functional>
#include <memory>

#include "segre/likelihood/direct.h"
#include "segre/likelihood/flow_bound.h"
#include "segre/likelihood/free_bound.h"

namespace segre {

/// Called as long work goes on: so many of so many things are done.
using OnProgress = std::function<void(int64_t done, int64_t total)>;

/// Scores of items under way: the more evaluations each item is given, the smaller the errors.
class Refinement {
 public:
  virtual ~Refinement() = default;
  /// Spends `count` more evaluations (times, draws or trajectories) on every item, with noise of their own.
  virtual void spend(int64_t count, const OnProgress& on_progress) = 0;
  /// Evaluations spent per item so far.
  virtual int64_t spent() const = 0;
  virtual ItemScores scores() const = 0;
  /// Evaluations come in multiples of this.
  virtual int64_t unit() const { return 1; }
  /// What to start with, if there are many items.
  virtual int64_t first() const = 0;
  /// Numbers inside the network that one more evaluation of all items computes, roughly; fewer on CUDA, which is
  /// faster.
  virtual double cost() const = 0;
};

/// Times of the simulation-free bound of different labelings [K, n]. They come in rounds with strata of their own, at
/// most as many at a time as fit into some tens of megabytes; the rounds' estimates are averaged by their number of
/// evaluations. A first round is what FreeBound gives.
std::unique_ptr<Refinement> refine_free_bound(const Flow& flow, const TimeDensity& density, const FreeOptions& options,
                                              const torch::Tensor& labels);

/// Draws of the flow's bound; their weights are averaged as `log_mean` says.
std::unique_ptr<Refinement> refine_flow_bound(const Flow& flow, const FlowBoundOptions& options, bool log_mean,
                                              const torch::Tensor& labels);

/// Trajectories of the direct simulation, shared by all items.
std::unique_ptr<Refinement> refine_direct(const Flow& flow, const DirectOptions& options, const torch::Tensor& labels);

/// The error that is wanted and what may be spent on it.
struct ErrorTarget {
  /// Standard error of the scores so far, in nats, and what is wanted of it.
  struct State {
    double error;
    double wanted;
  };
  std::function<State(const ItemScores&)> measure;
  double n_effective = 1e9;  ///< how many different labelings the error is an average over: 1 / sum of squared shares
  int64_t most = 0;          ///< evaluations per item; 0: about kWork of the network's numbers altogether
  /// Some ten minutes on two cores of 2024, or on a GPU.
  static constexpr double kWork = 7e10;
};

/// What was reached.
struct Reached {
  int64_t spent;  ///< evaluations per item
  ErrorTarget::State state;
  bool capped;  ///< stopped by `most`
};

/// Spends evaluations until the error is as small as wanted, or as many as may be spent. Always the first ones; then as
/// many more as the error so far asks for. How many that is depends on all items together, an item's score on nothing
/// but the item, the seed and the rounds.
Reached reach_error(Refinement& refinement, const ErrorTarget& target, const OnProgress& on_progress);

}  // namespace segre
