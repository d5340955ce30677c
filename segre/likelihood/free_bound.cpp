#include "segre/likelihood/free_bound.h"

#include "segre/core/error.h"
#include "segre/core/one_thread.h"
#include "segre/path/path_sample.h"
#include "segre/space/blocks.h"

namespace segre {
namespace {

constexpr int64_t kPairsPerStratum = 2;
constexpr int64_t kRowsPerStratum = 2 * kPairsPerStratum;

}  // namespace

FreeBound::FreeBound(Flow flow, const TimeDensity& density, const FreeOptions& options)
    : flow_(std::move(flow)),
      density_(density.up_to(reading_time(flow_.space, *flow_.path, options.t1))),
      options_(options) {
  if (options_.times < kRowsPerStratum || options_.times % kRowsPerStratum != 0)
    fail_input("times = ", options_.times, ": expected a multiple of ", kRowsPerStratum);
  const auto body = [endpoint = flow_.endpoint](const std::vector<torch::Tensor>& in) {
    const torch::NoGradGuard no_grad;
    return endpoint(in[0], in[1]);
  };
  endpoint_ = std::make_shared<RowBlocks>(body, rows_per_block(flow_), flow_.options.device());
}

int64_t FreeBound::items_per_block() const {
  return flow_.options.device().is_cpu() ? 1 : std::max<int64_t>(1, endpoint_->rows() / options_.times);
}

int64_t FreeBound::items_per_call() const { return items_per_block() * at::get_num_threads(); }

torch::Tensor FreeBound::pair_estimates(const torch::Tensor& labels, const std::vector<uint64_t>& seeds) const {
  const auto k = static_cast<int64_t>(seeds.size());
  const int64_t pairs = options_.times / 2;
  const int64_t S = flow_.space.n_coordinates();
  // Two pairs in each of equal shares of the density's probability.
  auto u = torch::empty({k, pairs});
  auto noise = torch::empty({k, pairs, S}, flow_.options);
  for (int64_t item = 0; item < k; ++item) {
    fill_uniform(u[item], {seeds[item], Purpose::likelihood_time}, 0);
    noise[item] = reference_noise(flow_.space, {seeds[item], Purpose::likelihood_noise}, 0, pairs, flow_.options);
  }
  const auto stratum = torch::arange(pairs, torch::kFloat64).div(kPairsPerStratum, "floor");
  const int64_t n_strata = pairs / kPairsPerStratum;
  const auto [t, density] = density_.at((u.to(torch::kFloat64) + stratum) / static_cast<double>(n_strata));

  // Rows [item, pair, sign].
  const auto signed_noise = torch::stack({noise, -noise}, 2).view({-1, S});
  const auto each = [&](const torch::Tensor& per_pair) {  // [k, pairs] -> [rows, 1]
    return per_pair.to(flow_.options).unsqueeze(2).expand({k, pairs, 2}).reshape({-1, 1});
  };
  const auto row_labels = labels.repeat_interleave(2 * pairs, 0);
  const auto corner = corners(flow_.space, *flow_.path, row_labels, flow_.options);
  const auto at = flow_.path->at(t);
  const auto D = (*endpoint_)({each(at.a) * corner + each(at.s) * signed_noise, each(t).squeeze(1)});
  const auto error = (corner - D).square().sum(1, /*keepdim=*/false, torch::kFloat64);
  const auto weight = (information_rate(at) / density).to(error.device());

  const auto end = flow_.path->at(t1());
  const auto read = matched_readout(flow_.space, *flow_.path, end.a * corner + end.s * signed_noise, t1());
  const auto misread = pick(flow_.space, read, row_labels).sum(1, /*keepdim=*/false, torch::kFloat64);
  const auto mean_of_signs = [&](const torch::Tensor& rows) { return rows.view({k, pairs, 2}).mean(2); };
  return weight * mean_of_signs(error) - mean_of_signs(misread);
}

ItemScores FreeBound::operator()(const torch::Tensor& labels) const {
  const torch::NoGradGuard no_grad;
  check_labels(flow_.space, labels);
  const int64_t N = labels.size(0);
  const auto seeds = item_seeds(labels, options_.seed);
  const auto device = flow_.options.device();
  const int64_t per_block = items_per_block();
  const int64_t n_blocks = (N + per_block - 1) / per_block;
  std::vector<torch::Tensor> estimates(n_blocks);
  at::parallel_for(0, n_blocks, device.is_cpu() ? 1 : std::max<int64_t>(1, n_blocks), [&](int64_t begin, int64_t end) {
    const torch::NoGradGuard no_grad_here;
    const OneThread alone;
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * per_block;
      const int64_t last = std::min(N, first + per_block);
      estimates[block] =
          pair_estimates(labels.slice(0, first, last).to(device), {seeds.begin() + first, seeds.begin() + last});
    }
  });
  if (N == 0) return {torch::empty({0}, torch::kFloat64), torch::empty({0}, torch::kFloat64)};
  const auto pairs = torch::cat(estimates).cpu();  // [N, pairs]
  if (!pairs.isfinite().all().item<bool>())
    fail("the network gave endpoints that are not finite; the model's weights may be damaged");
  const auto strata = pairs.view({N, -1, kPairsPerStratum});
  const auto n_strata = static_cast<double>(strata.size(1));
  // The mean of two independent values has the variance (difference / 2)^2 on average.
  const auto variance = (strata.select(2, 0) - strata.select(2, 1)).square().sum(1) / (4.0 * n_strata * n_strata);
  return {-pairs.mean(1), variance.sqrt()};
}

}  // namespace segre
