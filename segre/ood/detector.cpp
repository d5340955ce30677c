#include "segre/ood/detector.h"

#include <algorithm>

#include "segre/core/error.h"
#include "segre/core/text.h"

namespace segre {
namespace {

constexpr double kLeastNats = 1.0;  // smallest divisor of ratios

// The models that know nothing about the training data.
std::vector<Measure> blind(const std::vector<Measure>& models) {
  std::vector<Measure> out;
  for (const Measure& model : models)
    if (model.key == "own" || model.key == "compressed") out.push_back(model);
  return out;
}

std::vector<torch::Tensor> values_of(const std::vector<Measure>& measures, const torch::Tensor& labels) {
  std::vector<torch::Tensor> out;
  out.reserve(measures.size());
  for (const Measure& measure : measures) out.push_back(measure.of(labels));
  return out;
}

void check_items(const Space& space, const torch::Tensor& labels, const torch::Tensor& nats) {
  check_labels(space, labels);
  if (!nats.defined() || nats.dim() != 1 || nats.size(0) != labels.size(0))
    fail_input("outside scores need the nats of each of ", labels.size(0), " items, found ",
               nats.defined() ? concat("shape ", nats.sizes()) : "no tensor");
}

std::vector<double> as_vector(const torch::Tensor& values) {
  const auto here = values.to(torch::kCPU, torch::kFloat64).contiguous();
  return {here.data_ptr<double>(), here.data_ptr<double>() + here.numel()};
}

RocSamples sets_of(const OutsideScore& inside, const OutsideScore& outside) {
  return {as_vector(inside.values), as_vector(outside.values)};
}

// How far one score leads another, taken in its better direction, on the same items.
Estimate lead_over(const Estimate& ours, const Roc& theirs, double correlation) {
  if (theirs.auroc >= 0.5) return difference(ours, {theirs.auroc, theirs.low, theirs.high}, correlation);
  return difference(ours, {1.0 - theirs.auroc, 1.0 - theirs.high, 1.0 - theirs.low}, -correlation);
}

}  // namespace

const char* family_name(OutsideScore::Family family) {
  switch (family) {
    case OutsideScore::Family::recommended:
      return "recommended";
    case OutsideScore::Family::bound:
      return "bound";
    case OutsideScore::Family::ratio:
      return "ratio";
    case OutsideScore::Family::difference:
      return "difference";
    case OutsideScore::Family::typicality:
      return "typicality";
    case OutsideScore::Family::baseline:
      break;
  }
  return "baseline";
}

OutsideDetector::OutsideDetector(const Space& space, const torch::Tensor& counts, const torch::Tensor& calibration,
                                 const torch::Tensor& calibration_nats)
    : space_(space),
      models_(simple_models(space, counts)),
      baselines_(baselines(space, counts)),
      blind_(blind(models_)),
      n_calibration_((check_items(space, calibration, calibration_nats), calibration.size(0))),
      mean_nats_(calibration_nats.mean().item<double>()) {
  if (!space.is(PartKind::columns)) fit_.emplace(calibration_nats, values_of(blind_, calibration));
}

std::vector<OutsideScore> OutsideDetector::operator()(const torch::Tensor& labels, const torch::Tensor& nats) const {
  check_items(space_, labels, nats);
  std::vector<OutsideScore> out;
  const auto add = [&](const std::string& key, const std::string& name, OutsideScore::Family family,
                       torch::Tensor values) {
    out.push_back({key, name, family, std::move(values)});
  };
  const auto of_models = values_of(models_, labels);
  const auto of_baselines = values_of(baselines_, labels);
  if (fit_) {
    add("recommended", "nats beyond the item's complexity", OutsideScore::Family::recommended,
        fit_->standardised(nats, values_of(blind_, labels)));
  } else {
    add("recommended", "nats beyond independent variables", OutsideScore::Family::recommended, nats - of_models[0]);
  }
  add("nats", "nats", OutsideScore::Family::bound, nats);
  for (size_t k = 0; k < models_.size(); ++k)
    add("ratio_" + models_[k].key, "nats / " + models_[k].name, OutsideScore::Family::ratio,
        nats / of_models[k].clamp_min(kLeastNats));
  if (fit_)
    add("ratio_foreground", "nats / " + baselines_[0].name, OutsideScore::Family::ratio,
        nats / of_baselines[0].clamp_min(kLeastNats));
  for (size_t k = 0; fit_ && k < models_.size(); ++k)
    add("difference_" + models_[k].key, "nats - " + models_[k].name, OutsideScore::Family::difference,
        nats - of_models[k]);
  add("typicality", "|nats - their mean on training items|", OutsideScore::Family::typicality,
      (nats - mean_nats_).abs());
  for (size_t k = 0; k < baselines_.size(); ++k)
    add(baselines_[k].key, baselines_[k].name, OutsideScore::Family::baseline, of_baselines[k]);
  return out;
}

torch::Tensor OutsideDetector::recommended_error(const torch::Tensor& nats, const torch::Tensor& nats_error) const {
  return fit_ ? fit_->standardised_error(nats, nats_error) : nats_error;
}

std::string OutsideDetector::how_recommended() const {
  if (!fit_)
    return concat(
        "The recommended score is the row's nats minus those of independent columns with the shares of the training "
        "data: how surprising the combination of its labels is, however rare each of them is.");
  std::vector<std::string> terms;
  for (size_t k = 0; k < blind_.size(); ++k)
    terms.push_back(concat(fixed(fit_->exponents()[k], 2), " log(nats by ", blind_[k].name, ")"));
  return concat("On ", n_calibration_, " training items, log nats = ", fixed(fit_->intercept(), 2), " + ",
                join(terms, " + "), " with a standard deviation of ", fixed(fit_->spread(), 3),
                "; the recommended score is an item's distance above this line, in standard deviations.");
}

std::vector<Separation> compare(const std::vector<OutsideScore>& inside, const std::vector<OutsideScore>& outside) {
  const auto recommended = std::find_if(inside.begin(), inside.end(), [](const OutsideScore& score) {
    return score.family == OutsideScore::Family::recommended;
  });
  if (recommended == inside.end()) fail("scores are compared with the recommended one, which is missing");
  const RocSamples own = sets_of(*recommended, outside.at(static_cast<size_t>(recommended - inside.begin())));
  const Roc ours = roc(own.inside, own.outside);
  std::vector<Separation> out;
  for (size_t k = 0; k < inside.size(); ++k) {
    const RocSamples sets = sets_of(inside[k], outside.at(k));
    const Roc theirs = roc(sets.inside, sets.outside);
    const Estimate lead = inside[k].family == OutsideScore::Family::recommended
                              ? Estimate{0.0, 0.0, 0.0}  // over itself
                              : lead_over({ours.auroc, ours.low, ours.high}, theirs, auroc_correlation(own, sets));
    out.push_back({inside[k].key, inside[k].name, inside[k].family, theirs, lead,
                   static_cast<int64_t>(sets.inside.size()), static_cast<int64_t>(sets.outside.size())});
  }
  return out;
}

std::string auroc_text(const Roc& roc) {
  std::string text = fixed(roc.auroc, 4);
  if (roc.auroc < 0.5) text += concat(" (", fixed(1.0 - roc.auroc, 4), " reversed)");
  return text;
}

}  // namespace segre
