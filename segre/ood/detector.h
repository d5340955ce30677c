#pragma once

#include <optional>

#include "segre/eval/intervals.h"
#include "segre/eval/roc.h"
#include "segre/ood/complexity.h"
#include "segre/ood/measures.h"

namespace segre {

/// A score of items; larger means more outside.
struct OutsideScore {
  /// What a score is made of.
  enum class Family {
    recommended,  ///< nats beyond what the item's complexity, or a table's individual labels, explain
    bound,        ///< nats
    ratio,        ///< nats divided by those of a simple model
    difference,   ///< nats minus those of a simple model
    typicality,   ///< distance of the nats from their mean on training items
    baseline,     ///< needs no network
  };

  std::string key;   ///< CSV column
  std::string name;  ///< for display
  Family family;
  torch::Tensor values;  ///< [N] float64
};

/// "recommended", "bound", ...
const char* family_name(OutsideScore::Family family);

/// Scores items by a network's nats (the bound on -log p) and by simple measures. Everything it knows comes from
/// training data; outside data play no part in any fit or in the choice of the recommended score.
///
/// For images and sequences the recommended score is ComplexityFit's residual against measures of complexity that know
/// nothing about the training data: the item's own label frequency, if labels are shared, and its compressed size. A
/// model fitted on training data would be surprised by the same items as the network and cancel part of the signal.
///
/// A row of a table has no such complexity. Its recommended score is the nats minus those of independent columns,
/// log prod_i p_i(x_i) - log p(x): how surprising the combination is, however rare each label is.
class OutsideDetector {
 public:
  /// counts [S] int64: labels of the training data (count_labels). calibration [K, n] int64 and its nats [K]: some
  /// training items. InputError as in check_labels, or if the numbers of nats and items differ.
  OutsideDetector(const Space& space, const torch::Tensor& counts, const torch::Tensor& calibration,
                  const torch::Tensor& calibration_nats);

  /// Scores of labels [N, n] int64 with their nats [N]; the recommended one first, families in order. InputError as
  /// above.
  std::vector<OutsideScore> operator()(const torch::Tensor& labels, const torch::Tensor& nats) const;

  /// Standard errors [N] of the recommended score, given those of the nats, nats_error [N].
  torch::Tensor recommended_error(const torch::Tensor& nats, const torch::Tensor& nats_error) const;

  /// One sentence on how the recommended score is computed, with its fitted numbers.
  std::string how_recommended() const;

 private:
  Space space_;
  std::vector<Measure> models_;
  std::vector<Measure> baselines_;
  std::vector<Measure> blind_;  // the models that know nothing about the training data
  int64_t n_calibration_;
  double mean_nats_;
  std::optional<ComplexityFit> fit_;  // not for tables
};

/// How well a score separates two sets of items.
struct Separation {
  std::string key;
  std::string name;
  OutsideScore::Family family;
  Roc roc;
  Estimate lead;  ///< AUROC of the recommended score minus this one's in its better direction, with the interval of a
                  ///< difference on the same items
  int64_t n_inside = 0;
  int64_t n_outside = 0;
};

/// Compares the scores of inside and outside items by the same OutsideDetector; they include the recommended one.
std::vector<Separation> compare(const std::vector<OutsideScore>& inside, const std::vector<OutsideScore>& outside);

/// "0.137 (0.863 reversed)" if a score points backwards, else "0.993".
std::string auroc_text(const Roc& roc);

/// Digits of a score in a CSV; finer than the noise of any score.
inline constexpr int kScoreDigits = 9;

}  // namespace segre
