#pragma once

#include <optional>

#include "segre/eval/intervals.h"
#include "segre/eval/roc.h"
#include "segre/ood/complexity.h"
#include "segre/ood/measures.h"

namespace segre {

/// What a score is made of.
enum class ScoreFamily {
  recommended,  ///< nats beyond what the item's complexity, or a table's labels by themselves, explain
  bound,        ///< nats
  ratio,        ///< nats divided by those of a simple model
  difference,   ///< nats less those of a simple model
  typicality,   ///< distance of the nats from their mean on training items
  baseline,     ///< no network at all
};

/// "recommended", "bound", ...
const char* family_name(ScoreFamily family);

/// A score of items; larger means more outside.
struct Score {
  std::string key;   ///< CSV column
  std::string name;  ///< for people
  ScoreFamily family;
  torch::Tensor values;  ///< [N] float64
};

/// Scores items by what a network says of them (nats: the bound on -log p) and by simple measures. Everything it knows
/// comes from training data; outside data play no part, neither in a fit nor in the choice of the recommended score.
///
/// Of images and sequences the recommended score is ComplexityFit's residual against the measures of complexity that
/// know nothing of the training data: the item's own label frequency, where labels are shared, and its compressed size.
/// A model fitted on training data would be surprised by the same items as the network and take away part of what is
/// looked for.
///
/// A row of a table has no such complexity. Its recommended score is the nats less those of independent columns,
/// log prod_i p_i(x_i) - log p(x): how surprising the combination is, whatever its labels are by themselves.
class OutsideScores {
 public:
  /// counts [S] int64: labels of the training data (count_labels). calibration [K, n] int64 and its nats [K]: some
  /// training items. InputError as check_labels, or where there are more or fewer nats than items.
  OutsideScores(const Space& space, const torch::Tensor& counts, const torch::Tensor& calibration,
                const torch::Tensor& calibration_nats);

  /// Scores of labels [N, n] int64 with their nats [N]; the recommended one first, the families in order. InputError
  /// likewise.
  std::vector<Score> operator()(const torch::Tensor& labels, const torch::Tensor& nats) const;

  /// Standard errors [N] of the recommended score of items whose nats have the errors nats_error [N].
  torch::Tensor recommended_error(const torch::Tensor& nats, const torch::Tensor& nats_error) const;

  /// One sentence on how the recommended score came about, with its fitted numbers.
  std::string how_recommended() const;

 private:
  Space space_;
  std::vector<Measure> models_;
  std::vector<Measure> baselines_;
  std::vector<Measure> blind_;  // those of the models that know nothing of the training data
  int64_t n_calibration_;
  double mean_nats_;
  std::optional<ComplexityFit> fit_;  // unless these are tables
};

/// How a score told two sets of items apart.
struct ScoreResult {
  std::string key;
  std::string name;
  ScoreFamily family;
  Roc roc;
  Estimate lead;  ///< AUROC of the recommended score less this one's in its best direction, with the interval of a
                  ///< difference on the same items
  int64_t n_inside = 0;
  int64_t n_outside = 0;
};

/// Compares the scores of inside and outside items, which come from the same OutsideScores; one is the recommended
/// one.
std::vector<ScoreResult> compare(const std::vector<Score>& inside, const std::vector<Score>& outside);

/// "0.137 (0.863 reversed)" where a score points backwards, else "0.993".
std::string auroc_text(const Roc& roc);

}  // namespace segre
