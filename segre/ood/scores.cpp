#include "segre/ood/scores.h"

#include <algorithm>

#include "segre/core/error.h"
#include "segre/core/text.h"

namespace segre {
namespace {

constexpr double kLeastNats = 1.0;  // what ratios divide by at least

// The models that know nothing of the training data.
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

std::vector<double> as_vector(const torch::Tensor& values) {
  const auto here = values.to(torch::kCPU, torch::kFloat64).contiguous();
  return {here.data_ptr<double>(), here.data_ptr<double>() + here.numel()};
}

double best_direction(const Roc& roc) { return std::max(roc.auroc, 1.0 - roc.auroc); }

}  // namespace

const char* family_name(ScoreFamily family) {
  switch (family) {
    case ScoreFamily::recommended:
      return "recommended";
    case ScoreFamily::bound:
      return "bound";
    case ScoreFamily::ratio:
      return "ratio";
    case ScoreFamily::difference:
      return "difference";
    case ScoreFamily::typicality:
      return "typicality";
    case ScoreFamily::baseline:
      break;
  }
  return "baseline";
}

OutsideScores::OutsideScores(const Space& space, const torch::Tensor& counts, const torch::Tensor& calibration,
                             const torch::Tensor& calibration_nats)
    : models_(simple_models(space, counts)),
      baselines_(baselines(space, counts)),
      blind_(blind(models_)),
      n_calibration_(calibration.size(0)),
      mean_nats_(calibration_nats.mean().item<double>()),
      fit_(calibration_nats, values_of(blind_, calibration)) {}

std::vector<Score> OutsideScores::operator()(const torch::Tensor& labels, const torch::Tensor& nats) const {
  std::vector<Score> out;
  const auto add = [&](const std::string& key, const std::string& name, ScoreFamily family, torch::Tensor values) {
    out.push_back({key, name, family, std::move(values)});
  };
  add("recommended", "nats beyond the item's complexity", ScoreFamily::recommended,
      fit_.standardised(nats, values_of(blind_, labels)));
  add("nats", "nats", ScoreFamily::bound, nats);
  const auto of_models = values_of(models_, labels);
  const auto of_baselines = values_of(baselines_, labels);
  for (size_t k = 0; k < models_.size(); ++k)
    add("ratio_" + models_[k].key, "nats / " + models_[k].name, ScoreFamily::ratio,
        nats / of_models[k].clamp_min(kLeastNats));
  add("ratio_foreground", "nats / " + baselines_[0].name, ScoreFamily::ratio,
      nats / of_baselines[0].clamp_min(kLeastNats));
  for (size_t k = 0; k < models_.size(); ++k)
    add("difference_" + models_[k].key, "nats - " + models_[k].name, ScoreFamily::difference, nats - of_models[k]);
  add("typicality", "|nats - their mean on training items|", ScoreFamily::typicality, (nats - mean_nats_).abs());
  for (size_t k = 0; k < baselines_.size(); ++k)
    add(baselines_[k].key, baselines_[k].name, ScoreFamily::baseline, of_baselines[k]);
  return out;
}

std::string OutsideScores::how_recommended() const {
  std::vector<std::string> terms;
  for (size_t k = 0; k < blind_.size(); ++k)
    terms.push_back(concat(fixed(fit_.exponents()[k], 2), " log(nats by ", blind_[k].name, ")"));
  return concat("On ", n_calibration_, " training items, log nats = ", fixed(fit_.intercept(), 2), " + ",
                join(terms, " + "), " with a standard deviation of ", fixed(fit_.spread(), 3),
                "; the recommended score is an item's distance above this line, in standard deviations.");
}

std::vector<ScoreResult> compare(const std::vector<Score>& inside, const std::vector<Score>& outside) {
  std::vector<ScoreResult> out;
  for (size_t k = 0; k < inside.size(); ++k)
    out.push_back({inside[k].key, inside[k].name, inside[k].family,
                   roc(as_vector(inside[k].values), as_vector(outside.at(k).values))});
  return out;
}

std::string auroc_text(const Roc& roc) {
  std::string text = fixed(roc.auroc, 4);
  if (roc.auroc < 0.5) text += concat(" (", fixed(1.0 - roc.auroc, 4), " reversed)");
  return text;
}

std::string verdict(const std::vector<ScoreResult>& results) {
  const ScoreResult* recommended = nullptr;
  const ScoreResult* baseline = nullptr;
  for (const ScoreResult& result : results) {
    if (result.family == ScoreFamily::recommended) recommended = &result;
    if (result.family == ScoreFamily::baseline &&
        (baseline == nullptr || best_direction(result.roc) > best_direction(baseline->roc)))
      baseline = &result;
  }
  if (recommended == nullptr || baseline == nullptr) fail("a verdict needs the recommended score and a baseline");
  const double ours = recommended->roc.auroc;
  const std::string theirs = concat("'", baseline->name, "' ", auroc_text(baseline->roc));
  if (best_direction(baseline->roc) < ours)
    return concat("The recommended score (AUROC ", fixed(ours, 4), ") beats every baseline; the best is ", theirs, ".");
  return concat("A BASELINE WINS: ", theirs, " needs no model and is ",
                best_direction(baseline->roc) == ours ? "as good as" : "better than", " the recommended score, ",
                fixed(ours, 4), baseline->roc.auroc < 0.5 ? " (its direction was seen only with the outside data)" : "",
                ".");
}

}  // namespace segre
