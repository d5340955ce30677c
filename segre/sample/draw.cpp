#include "segre/sample/draw.h"

#include <algorithm>

namespace segre {

DrawTotals draw_samples(const Sampler& sampler, int64_t count,
                        const std::function<void(const torch::Tensor& labels, int64_t first)>& use,
                        const WorkCallbacks& callbacks, const torch::Tensor& given) {
  constexpr int64_t kBlocks = 32;  // at a time, to keep all threads busy
  const int64_t batch = kBlocks * sampler.rows_per_block();
  DrawTotals totals;
  for (int64_t first = 0; first < count; first += batch) {
    const int64_t rows = std::min(batch, count - first);
    const Samples samples =
        given.defined() ? sampler.complete({.labels = given.expand({rows, -1})}, static_cast<uint64_t>(first), 0)
                        : sampler.draw(static_cast<uint64_t>(first), rows);
    totals.n_undecided += samples.n_undecided;
    totals.n_evaluations += samples.n_evaluations;
    use(samples.labels, first);
    callbacks.report({"sample", first + samples.labels.size(0), count});
  }
  return totals;
}

}  // namespace segre
