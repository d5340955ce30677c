#include "segre/flow/draw.h"

#include <algorithm>

#include "segre/flow/row_blocks.h"

namespace segre {
namespace {

Samples draw_rows(const Sampler& sampler, const Rows& rows, const GivenRows& given) {
  const auto first = static_cast<uint64_t>(rows.from);
  if (!given) return sampler.draw(first, rows.count());
  return sampler.complete(given(rows.from, rows.count()), first, 0);
}

DrawTotals over_ranks(Ranks& ranks, const DrawTotals& own) {
  const auto sums = torch::tensor({own.n_undecided, own.n_evaluations}, torch::kInt64);
  ranks.sum(sums);
  return {sums[0].item<int64_t>(), sums[1].item<int64_t>()};
}

}  // namespace

void DrawTotals::add(const Samples& samples) {
  n_undecided += samples.n_undecided;
  n_evaluations += samples.n_evaluations;
}

DrawTotals draw_samples(const Sampler& sampler, int64_t count,
                        const std::function<void(const torch::Tensor& labels, int64_t first)>& use,
                        const WorkCallbacks& callbacks, const GivenRows& given, const std::shared_ptr<Ranks>& ranks) {
  constexpr int64_t kBlocks = 32;  // of each rank at a time, to keep all threads busy
  const int64_t block = sampler.rows_per_block();
  const int64_t batch = kBlocks * block * ranks->size();
  DrawTotals totals;
  for (int64_t first = 0; first < count; first += batch) {
    const SharedRows rows(ranks, std::min(batch, count - first), block);
    const Samples samples = draw_rows(sampler, {first + rows.own().from, first + rows.own().to}, given);
    totals.add(samples);
    const auto labels = rows.gather_labels(sampler.space(), samples.labels);
    if (ranks->is_first()) use(labels, first);
    callbacks.report({"sample", first + rows.count(), count});
  }
  return over_ranks(*ranks, totals);
}

DrawTotals draw_parts(const Sampler& sampler, int64_t count, int64_t blocks,
                      const std::function<void(const torch::Tensor& labels, int64_t first)>& use,
                      const WorkCallbacks& callbacks, const GivenRows& given, const std::shared_ptr<Ranks>& ranks) {
  const int64_t part = blocks * sampler.rows_per_block();
  const int64_t round = part * ranks->size();  // a part of every rank
  DrawTotals totals;
  for (int64_t first = part * ranks->rank(); first < count; first += round) {
    const Samples samples = draw_rows(sampler, {first, std::min(count, first + part)}, given);
    totals.add(samples);
    use(samples.labels, first);
    callbacks.report({"sample", std::min(count, first / round * round + round), count});  // the others are as fast
  }
  return over_ranks(*ranks, totals);
}

}  // namespace segre
