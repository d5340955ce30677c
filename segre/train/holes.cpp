#include "segre/train/holes.h"

#include "segre/path/fill.h"
#include "segre/path/simplex.h"
#include "segre/space/blocks.h"

namespace segre {
namespace {

// Evaluations per batch.
constexpr int64_t kSteps = 3;

// How many of `total` holes are drawn by the end of a step: up to three one after the other; of more, one and then two,
// which explain most of the dependence between the rest, drawn at once.
torch::Tensor drawn_by(int64_t step, const torch::Tensor& total) {
  if (step + 1 == kSteps) return total;
  return torch::where(total <= kSteps, total.clamp_max(step + 1), torch::full_like(total, step == 0 ? 1 : 3));
}

// How uncertain each variable is, in nats: p [B, S] -> [B, n].
torch::Tensor entropies(const Space& space, const torch::Tensor& p) {
  return reduce_blocks(space, {p}, [](const auto& in) { return -torch::xlogy(in[0], in[0]).sum(-1); });
}

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
  const auto of_whole_rows = [&](const torch::Tensor& so_far) {
    const auto nowhere = torch::zeros({so_far.size(0), space.n_coordinates()}, model_.options());
    return log_lift(space, model_.logits({nowhere, torch::zeros({1}, model_.options()), {.labels = so_far}}));
  };
  // On the CPU only the items that still have holes are evaluated.
  const auto log_marginals = [&](const torch::Tensor& so_far) {
    if (!so_far.device().is_cpu()) return of_whole_rows(so_far);
    const auto open = (so_far == kUnknown).any(1).nonzero().flatten();
    const auto none = torch::zeros({so_far.size(0), space.n_coordinates()}, model_.options());
    return open.numel() == 0 ? none : none.index_copy(0, open, of_whole_rows(so_far.index_select(0, open)));
  };
  return fill_unknown(space, labels,
                      {.steps = kSteps,
                       .upto = drawn_by,
                       .log_marginals = log_marginals,
                       .uniforms = [&](int64_t step) { return numbers(labels, first_cell, 1 + step); },
                       .priority = [&](const torch::Tensor& p) { return -entropies(space, p); }});
}

torch::Tensor TrainingHoles::operator()(const torch::Tensor& labels, const torch::Tensor& first_cell) const {
  const auto loses = numbers(labels, first_cell, 0).select(1, 0).unsqueeze(1) < 0.5;
  const auto of_another = (labels == kUnknown).roll(1, 0);
  return filled(labels, first_cell).masked_fill(of_another.logical_and(loses), kUnknown);
}

}  // namespace segre
