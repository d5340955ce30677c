#include "segre/sample/draw.h"

#include <algorithm>

#include "segre/flow/shared_rows.h"

namespace segre {
namespace {

Samples draw_rows(const Sampler& sampler, const Rows& rows, const torch::Tensor& given) {
  const auto first = static_cast<uint64_t>(rows.from);
  if (!given.defined()) return sampler.draw(first, rows.count());
  return sampler.complete({.labels = given.expand({rows.count(), -1})}, first, 0);
}

DrawTotals over_ranks(Ranks& ranks, const DrawTotals& own) {
  const auto sums = torch::tensor({own.n_undecided, own.n_evaluations}, torch::kInt64);
  ranks.sum(sums);
  return {sums[0].item<int64_t>(), sums[1].item<int64_t>()};
}

}  // namespace

DrawTotals draw_samples(const Sampler& sampler, int64_t count,
                        const std::function<void(const torch::Tensor& labels, int64_t first)>& use,
                        const WorkCallbacks& callbacks, const torch::Tensor& given,
                        const std::shared_ptr<Ranks>& ranks) {
  constexpr int64_t kBlocks = 32;  // of each rank at a time, to keep all threads busy
  const int64_t block = sampler.rows_per_block();
  const int64_t batch = kBlocks * block * ranks->size();
  DrawTotals totals;
  for (int64_t first = 0; first < count; first += batch) {
    const SharedRows rows(ranks, std::min(batch, count - first), block);
    const Samples samples = draw_rows(sampler, {first + rows.own().from, first + rows.own().to}, given);
    totals.n_undecided += samples.n_undecided;
    totals.n_evaluations += samples.n_evaluations;
    const auto labels = rows.gather_labels(sampler.space(), samples.labels);
    if (ranks->is_first()) use(labels, first);
    callbacks.report({"sample", first + rows.count(), count});
  }
  return over_ranks(*ranks, totals);
}

}  // namespace segre
