#pragma once

#include <optional>

#include "segre/core/work.h"
#include "segre/likelihood/refine.h"
#include "segre/likelihood/scores.h"
#include "segre/runs/load_run.h"
#include "segre/tasks/condition.h"

namespace segre {

/// Which estimate of log p.
enum class ScoreMethod {
  free,    ///< simulation-free bound: forward passes only, the stochastic sampler's likelihood
  path,    ///< the flow's own, with the path as proposal
  ball,    ///< the flow's own, with the paper's proposal
  direct,  ///< E[T(W)] simulated: an estimate for small spaces, not a bound
  order,   ///< labels filled in one after another: the likelihood of the erasure sampler
};

/// "free", "path", "ball", "direct" or "order"; InputError, starting with the user's option, otherwise.
ScoreMethod parse_score_method(const std::string& text, const std::string& option);

/// The standard error to reach: a number of nats plus a share of the average's nats.
struct ErrorGoal {
  double nats = 0.05;
  double share = 0.0;
};

/// How to score items.
struct ScoreOptions {
  ScoreMethod method = ScoreMethod::free;
  /// Spend evaluations until this error is reached; unset: spend exactly `evaluations`.
  std::optional<ErrorGoal> error = ErrorGoal{};
  bool each = false;        ///< the error is that of each item (root mean square), not of their average
  int64_t evaluations = 0;  ///< per item: evaluations (free), draws (path, ball) or trajectories (direct). With an
                            ///< error, the maximum; 0: about ten minutes' work
  bool control = true;      ///< subtract a control variate, which removes noise (free)
  TraceOptions trace{};     ///< path, ball
  bool log_mean = false;    ///< average draws by log-mean-exp, which is tighter and needs the exact trace (path, ball)
  int64_t panels = 2;       ///< of the quadrature along the path, 15 nodes each (path, ball)
  BallMass mass{};          ///< of the proposal's normals inside the balls (ball)
  bool matched = true;      ///< read labels by the path's Bayes rule, else by W = softmax(v) (direct)
  double t1 = 0.0;          ///< when labels are read; 0: at the decision time
  uint64_t seed = 1;        ///< a score depends only on the seed and the item
  LabelOrder order = LabelOrder::any;  ///< in which labels are filled in (order)
  torch::Tensor given{};               ///< [n] bool: score the other variables given these (free, path, order)
  Condition condition{};               ///< and given that this holds for all items (the same)
  bool per_variable = false;           ///< also what each variable contributes: ItemScores::cells (free, order)
};

/// Scores of distinct labelings, and their meaning.
struct Scores {
  ItemScores items;
  Reached reached;      ///< what was spent, and whether it was enough
  bool each = false;    ///< `reached` refers to the error of each item
  ScoreKind kind;       ///< bound or estimate
  double t1;            ///< when labels are read
  std::string unit;     ///< "evaluations per item"
  std::string method;   ///< "simulation-free bound"
  std::string meaning;  ///< "in expectation a lower bound on log p of ..."

  /// One line on method, cost and meaning.
  std::string describe() const;
};

/// Scores of items that may repeat.
struct ScoredData {
  Space space;
  DistinctItems distinct;
  Scores scores;                     ///< of the distinct labelings
  ScoreSummary summary;              ///< of all items
  std::vector<int64_t> file_rows{};  ///< DataSource::file_row of each item, if they are numbered by it; else 0, 1, ...
  std::optional<ConditionReport> condition{};  ///< of the request, if it states one
  std::vector<std::string> notes{};            ///< what the caller should know about the request, each once

  /// The scores of all items in order.
  ItemScores all() const { return repeat_scores(scores.items, distinct.place); }
};

/// Scores of every labeling of a small space, with its frequency among samples.
struct ScoredSpace {
  Space space;
  torch::Tensor labels;  ///< [N, n] every labeling
  Scores scores;
  Measured sum;               ///< of all probabilities; a bound's is at most 1
  torch::Tensor frequencies;  ///< [N, 2] share among samples and its standard error; undefined without samples, and
                              ///< on ranks other than 0
  int64_t n_samples = 0;
  std::vector<std::string> notes{};  ///< what the caller should know about the request, each once
};

/// Estimates log p of labelings under a trained model. If several ranks loaded the run, they share the evaluations, and
/// all get all scores. Threads may share it.
class Scorer {
 public:
  /// InputError if the options do not make sense for this model.
  Scorer(const LoadedRun& run, const ScoreOptions& options);

  /// Scores labels [N, n]; kUnknown leaves a variable out (free, path, order). Equal items are scored once. Given a
  /// condition, items that do not satisfy it have a log p of -infinity and do not count in the summary. Error if a
  /// bound is impossible, that is above 0 by more than its errors; InputError if no item satisfies the condition.
  ScoredData operator()(const torch::Tensor& labels, const WorkCallbacks& callbacks = {}) const;

  /// Scores every labeling of the space and draws n_samples to compare with. InputError if there are more than 65,536.
  ScoredSpace all_labelings(int64_t n_samples, const WorkCallbacks& callbacks = {}) const;

 private:
  struct Estimator;
  Scores score(const DistinctItems& items, bool each, const WorkCallbacks& callbacks) const;
  torch::Tensor frequencies(const torch::Tensor& labels, int64_t n_samples, const WorkCallbacks& callbacks) const;
  torch::Tensor log_p_of_condition(const torch::Tensor& labels) const;
  void note_given(const DistinctItems& items) const;
  void apply_condition(ScoredData& scored) const;

  LoadedRun run_;
  ScoreOptions options_;
  std::shared_ptr<const Estimator> estimator_;
  std::shared_ptr<const Sampler> sampler_;  // whose marginals give the probability of what is given, if it is known
  std::optional<ConditionReport> condition_;
};

/// item, then one column per variable: the nats of each cell, -log p, 0 for those given or left out. Items are numbered
/// by `file_rows`, see DataSource::file_row; without them, 0, 1, ....
void write_cells_csv(std::ostream& out, const Space& space, const ItemScores& scores,
                     const std::vector<int64_t>& file_rows = {});

/// The network precision that a method needs: derivatives of a field rounded to bfloat16 are not those of the field, so
/// all but the simulation-free and the order bound use float32 unless the user `asked` for something else.
NetPrecision scoring_precision(ScoreMethod method, NetPrecision asked);

/// Describes how far probabilities and sample frequencies differ, compared with chance alone; `sampler` names the
/// sampler. "" if no error is known.
std::string compare_with_frequencies(const ScoredSpace& space, const std::string& sampler);

/// item,log_p,std_error: one line per item, numbered likewise.
void write_scores_csv(std::ostream& out, const ItemScores& scores, const std::vector<int64_t>& file_rows = {});

/// One line per labeling: its labels, log_p, std_error and, if samples were drawn, frequency and frequency_error.
void write_scores_csv(std::ostream& out, const ScoredSpace& scored);

}  // namespace segre
