#include "segre/train/holes.h"

#include "segre/simplex/lift.h"
#include "segre/state/fill.h"

namespace segre {
namespace {

// Evaluations per batch: up to this many holes of an item are drawn one after the other; of more, several are drawn at
// once, independently given what is known so far.
constexpr int64_t kSteps = 3;

}  // namespace

bool TrainingHoles::can_fill(const Model& model) {
  return model.form() == Form::evidence && !model.field().couples_items() && !model.field().parameters().empty();
}

// Uniform numbers of the cells, [B, n].
torch::Tensor TrainingHoles::numbers(const torch::Tensor& labels, const torch::Tensor& first_cell, int64_t part) const {
  return fill_uniform(torch::empty(labels.sizes(), model_.options()),
                      RandomStream(seed_, Purpose::training_holes).part(part), first_cell);
}

torch::Tensor TrainingHoles::filled(const torch::Tensor& labels, const torch::Tensor& first_cell) const {
  const torch::NoGradGuard no_grad;
  const Space& space = model_.space();
  // On the CPU only the items with holes are asked about.
  const bool selects = labels.device().is_cpu();
  const auto rows = selects ? (labels == kUnknown).any(1).nonzero().flatten() : torch::Tensor();
  if (selects && rows.numel() == 0) return labels;
  const auto of_rows = [&](const torch::Tensor& x) { return selects ? x.index_select(0, rows) : x; };
  const auto log_marginals = [&](const torch::Tensor& so_far) {
    const auto nowhere = torch::zeros({so_far.size(0), space.n_coordinates()}, model_.options());
    return log_lift(space, model_.logits({nowhere, torch::zeros({1}, model_.options()), {.labels = so_far}}));
  };
  const auto whole = fill_unknown(
      space, of_rows(labels),
      {.steps = kSteps,
       .log_marginals = log_marginals,
       .uniforms = [&](int64_t step) { return of_rows(numbers(labels, first_cell, 1 + step)); },
       .priority = [&](const torch::Tensor& /*p*/) { return of_rows(numbers(labels, first_cell, 1 + kSteps)); }});
  return selects ? labels.index_copy(0, rows, whole) : whole;
}

torch::Tensor TrainingHoles::operator()(const torch::Tensor& labels, const torch::Tensor& first_cell) const {
  const auto loses = numbers(labels, first_cell, 0).select(1, 0).unsqueeze(1) < 0.5;
  const auto of_another = (labels == kUnknown).roll(1, 0);
  return filled(labels, first_cell).masked_fill(of_another.logical_and(loses), kUnknown);
}

}  // namespace segre
