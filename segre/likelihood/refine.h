#pragma once  // internal

#include <functional>
#include <memory>

#include "segre/likelihood/direct.h"
#include "segre/likelihood/flow_bound.h"
#include "segre/likelihood/free_bound.h"
#include "segre/likelihood/order_bound.h"
#include "segre/ranks/ranks.h"

namespace segre {

/// Called during long work: `done` of `total` things are done.
using OnProgress = std::function<void(int64_t done, int64_t total)>;

/// Scores that improve step by step: the more evaluations per item, the smaller the errors. If several ranks refine the
/// same items, each evaluates a part of them (of the trajectories, in direct simulation), and all get the same scores.
class Refinement {
 public:
  virtual ~Refinement() = default;
  /// The same items with noise of its own, nothing spent yet: to find out how many evaluations they need.
  virtual std::unique_ptr<Refinement> trial() const = 0;
  /// Whether the first evaluations give the exact score, which cannot be refined.
  virtual bool is_exact() const { return false; }
  /// Spends `count` more evaluations (times, draws or trajectories) on every item, with new noise.
  virtual void spend(int64_t count, const OnProgress& on_progress) = 0;
  /// Evaluations spent per item so far.
  virtual int64_t spent() const = 0;
  virtual ItemScores scores() const = 0;
  /// Evaluations come in multiples of this.
  virtual int64_t unit() const { return 1; }
  /// Evaluations to start with, if there are many items.
  virtual int64_t first() const = 0;
  /// Approximate cost of one more evaluation of all items, in numbers inside the network; lower on CUDA, which is
  /// faster.
  virtual double cost() const = 0;
};

/// Refines the simulation-free bound of distinct labelings [K, n]. Each round has its own strata and at most as many
/// times as fit into some tens of megabytes; the rounds are averaged, weighted by their evaluations. The first round
/// equals FreeBound.
std::unique_ptr<Refinement> refine_free_bound(const Flow& flow, const TimeDensity& density, const FreeOptions& options,
                                              const torch::Tensor& labels,
                                              const std::shared_ptr<Ranks>& ranks = one_rank());

/// Refines the any-order bound in the same way. A fixed order has one exact score: further rounds are refused.
std::unique_ptr<Refinement> refine_order_bound(const Flow& flow, const OrderOptions& options,
                                               const torch::Tensor& labels,
                                               const std::shared_ptr<Ranks>& ranks = one_rank());

/// Refines the flow's bound by more draws, averaged according to `log_mean`.
std::unique_ptr<Refinement> refine_flow_bound(const Flow& flow, const FlowBoundOptions& options, bool log_mean,
                                              const torch::Tensor& labels,
                                              const std::shared_ptr<Ranks>& ranks = one_rank());

/// Refines the direct simulation by more trajectories, shared by all items.
std::unique_ptr<Refinement> refine_direct(const Flow& flow, const DirectOptions& options, const torch::Tensor& labels,
                                          const std::shared_ptr<Ranks>& ranks = one_rank());

/// The target error and the budget for it.
struct ErrorTarget {
  /// Current standard error of the scores, in nats, and its target.
  struct State {
    double error;
    double wanted;
  };
  std::function<State(const ItemScores&)> measure;
  double n_effective = 1e9;  ///< effective number of distinct labelings in the average: 1 / sum of squared shares
  int64_t most = 0;          ///< maximum evaluations per item that are averaged, besides a trial of at most a quarter
                             ///< as many; 0: about kWork numbers of the network in total
  /// About ten minutes on two cores of 2024, or on a GPU.
  static constexpr double kWork = 7e10;
};

/// Of the evaluations that an average needs, a trial of one in so many is enough to count them.
constexpr int64_t kTrialPart = 4;

/// Factor on the evaluations of an item over those that the error of its own trial suggests, which is an estimate too.
constexpr double kItemMargin = 1.2;

/// The outcome.
struct Reached {
  int64_t spent;  ///< evaluations per item, without those of the trial
  ErrorTarget::State state;
  bool capped;               ///< stopped by `most`
  bool out_of_time = false;  ///< stopped by the deadline
};

/// Spends as many evaluations as the error needs, or as the budget allows. How many is found with a trial, whose scores
/// are not averaged in: stopping when the error of the scores themselves happens to look small would stop early where
/// their values happen to agree, and an average of such values is biased if they are skewed. An error that turns out a
/// little above the target takes few more, which leaves no bias to speak of; one far above it stays as it is: the
/// trial missed what makes the scores vary, and more would be added only where they show it. The number depends on all
/// items together; an item's score depends only on the item, the seed and the rounds. If several ranks refine together,
/// rank 0's measurement decides for all. Before a deadline it spends what fits, as the trial's pace tells;
/// DeadlineExceeded if not even the first round does or, with several ranks, if the pace did not last.
Reached reach_error(Refinement& refinement, const ErrorTarget& target, const OnProgress& on_progress,
                    const std::shared_ptr<Ranks>& ranks = one_rank());

}  // namespace segre
