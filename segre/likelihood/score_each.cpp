#include "segre/likelihood/score_each.h"

#include <algorithm>
#include <cmath>

namespace segre {
namespace {

// Evaluations spent on each item and the sums behind its score, an average weighted by evaluations.
struct Sums {
  torch::Tensor log_p;     // [K], times the number of evaluations
  torch::Tensor variance;  // [K], times its square
  torch::Tensor spent;     // [K] float64

  Sums(const ItemScores& scores, int64_t count)
      : log_p(static_cast<double>(count) * scores.log_p),
        variance((static_cast<double>(count) * scores.std_error).square()),
        spent(torch::full_like(scores.log_p, static_cast<double>(count))) {}

  torch::Tensor std_error() const { return variance.sqrt() / spent; }
  void add(const torch::Tensor& rows, const Sums& more) {
    log_p.index_add_(0, rows, more.log_p);
    variance.index_add_(0, rows, more.variance);
    spent.index_add_(0, rows, more.spent);
  }
};

ErrorTarget all_together(const EachTarget& target, int64_t n_items) {
  ErrorTarget out;
  out.most = target.most;
  out.n_effective = static_cast<double>(n_items);
  out.measure = [wanted = target.error](const ItemScores& scores) -> ErrorTarget::State {
    return {std::sqrt(scores.std_error.square().nanmean().item<double>()), wanted};
  };
  return out;
}

// Items whose error is too large and that may have more evaluations: [R] int64.
torch::Tensor unfinished(const Sums& sums, const EachTarget& target) {
  auto wanting = sums.std_error() > target.error;
  if (target.most > 0) wanting = wanting & (sums.spent < static_cast<double>(target.most));
  return wanting.nonzero().squeeze(1);
}

}  // namespace

EachScores score_each(const Flow& flow, const TimeDensity& density, const FreeOptions& options,
                      const torch::Tensor& labels, const EachTarget& target, const OnProgress& on_progress,
                      const std::shared_ptr<Ranks>& ranks) {
  const auto all = refine_free_bound(flow, density, options, labels, ranks);
  const Reached reached = reach_error(*all, all_together(target, labels.size(0)), on_progress, ranks);
  Sums sums(all->scores(), reached.spent);
  const double cost_each = all->cost() / static_cast<double>(labels.size(0));
  double work = all->cost() * static_cast<double>(reached.spent);
  int64_t count = reached.spent;  // as many again as an item has had
  for (int64_t again = 1; target.most > 0 || work < ErrorTarget::kWork; ++again) {
    const auto rows = unfinished(sums, target);
    if (rows.numel() == 0) break;
    if (target.most > 0) count = std::min(count, (target.most - count) / all->unit() * all->unit());
    if (count <= 0) break;
    FreeOptions own = options;
    own.seed = round_seed(options.seed, -again);  // rounds over all items count upwards
    const auto some = refine_free_bound(flow, density, own, labels.index_select(0, rows), ranks);
    some->spend(count, on_progress);
    sums.add(rows, {some->scores(), count});
    work += cost_each * static_cast<double>(rows.numel() * count);
    count *= 2;
  }
  const auto error = sums.std_error();
  return {.scores = {.log_p = sums.log_p / sums.spent, .std_error = error},
          .spent = sums.spent.to(torch::kInt64),
          .capped = (error > target.error).any().item<bool>()};
}

}  // namespace segre
