#include "segre/train/evidence.h"

#include "segre/kernels/draw_kernels.h"
#include "segre/kernels/draw_kernels_parts.h"

namespace segre {
namespace {

// The CUDA twin, kernels::draw_evidence, reads the same numbers.
using kernels::detail::Number;
using enum kernels::detail::Number;

torch::Tensor happens(const torch::Tensor& numbers, Number decision, double share) {
  return numbers.select(1, decision) < share;
}

}  // namespace

void declare_evidence_keys(ConfigSchema& schema, EvidenceOptions& options) {
  schema.choice<EvidenceKind>(
      "train.evidence", &options.kind,
      {{"uniform", EvidenceKind::uniform}, {"known", EvidenceKind::known}, {"any", EvidenceKind::any}}, Later::fixed,
      "what the network is shown: only the flow's state (unknown cells are then left out, not filled), also "
      "labels of random variables, or any evidence");
  schema.number("train.evidence_known", &options.known, {0, 1}, Later::fixed,
                "share of the items with known variables (known, any)");
  schema.number("train.evidence_own_times", &options.own_times, {0, 1}, Later::fixed,
                "share of the items whose variables have their own times (any)");
  schema.number("train.evidence_erased", &options.erased, {0, 1}, Later::fixed,
                "share of the items with known variables that have no other evidence (known, any)");
}

EvidenceLaw::EvidenceLaw(const Space& space, const EvidenceOptions& options, Unknowns unknowns, uint64_t seed,
                         torch::TensorOptions tensors)
    : options_(options),
      unknowns_(unknowns),
      seed_(seed),
      tensors_(tensors),
      n_(space.n_variables()),
      patterns_(space, tensors.device()) {}

torch::Tensor EvidenceLaw::numbers(uint64_t first_item, int64_t count) const {
  return fill_uniform(torch::empty({count, kItemNumbers}), {seed_, Purpose::known_pattern}, first_item * kItemNumbers);
}

torch::Tensor EvidenceLaw::cells(Purpose purpose, int64_t count, const torch::Tensor& first_cell) const {
  return fill_uniform(torch::empty({count, n_}, tensors_), {seed_, purpose}, first_cell);
}

kernels::EvidencePlan EvidenceLaw::plan() const {
  return {.tells = options_.kind != EvidenceKind::uniform,
          .has_own_times = options_.kind == EvidenceKind::any,
          .known = options_.known,
          .own_times = options_.own_times,
          .erased = options_.erased,
          .grid = patterns_.grid(),
          .variables = n_,
          .left_out = kLeftOut,
          .seed = seed_};
}

EvidenceLaw::Draw EvidenceLaw::operator()(const torch::Tensor& labels, const torch::Tensor& all_times,
                                          const torch::Tensor& numbers, const torch::Tensor& first_cell,
                                          int64_t first) const {
  const int64_t K = labels.size(0);
  const int64_t B = all_times.size(0);
  const auto t = K == B ? all_times : all_times.narrow(0, first, K);
  if (is_idle()) return {.t = t};
  if (const auto how = plan(); K == B && kernels::evidence_serves(how, t)) {
    const auto drawn = kernels::draw_evidence(how, labels.contiguous(), t.contiguous(), numbers, first_cell);
    return {.known = {.labels = drawn.marks}, .t = drawn.t, .plain = drawn.plain};
  }
  const auto left_out = labels < 0;
  auto marks = torch::where(left_out, torch::full({1}, kLeftOut, labels.options()),
                            torch::full({1}, kUnknown, labels.options()));
  if (options_.kind == EvidenceKind::uniform) return {.known = {.labels = marks}, .t = t};
  const auto some = happens(numbers, kIsKnown, options_.known);
  const auto shown = patterns_(numbers.slice(1, 0, KnownPatterns::kNumbers), cells(Purpose::known_cells, K, first_cell))
                         .logical_and(some.unsqueeze(1))
                         .logical_and(left_out.logical_not());
  marks = torch::where(shown, labels, marks);
  const auto erased = some.logical_and(happens(numbers, kIsErased, options_.erased));
  auto times = torch::where(erased, torch::zeros({1}, t.options()), t);
  if (options_.kind == EvidenceKind::known)
    return {.known = {.labels = marks}, .t = times, .plain = some.logical_not()};
  const auto own = happens(numbers, kHasOwnTimes, options_.own_times).logical_and(erased.logical_not());
  // Times of other items of the batch have the right distribution.
  const auto item =
      (cells(Purpose::own_times, K, first_cell) * static_cast<double>(B)).to(torch::kInt64).clamp_max(B - 1);
  const auto others = all_times.index_select(0, item.flatten()).view({K, n_});
  return {.known = {.labels = marks},
          .t = torch::where(own.unsqueeze(1), others, times.unsqueeze(1)),
          .plain = some.logical_or(own).logical_not()};
}

}  // namespace segre
