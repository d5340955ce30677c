#include "segre/likelihood/free_bound.h"

#include "segre/core/error.h"
#include "segre/core/memory.h"
#include "segre/core/parallel.h"
#include "segre/path/path_sample.h"
#include "segre/path/simplex.h"
#include "segre/space/blocks.h"

namespace segre {
namespace {

constexpr int64_t kPairsPerStratum = 2;
constexpr int64_t kRowsPerStratum = 2 * kPairsPerStratum;

}  // namespace

FreeBound::FreeBound(Flow flow, const TimeDensity& density, const FreeOptions& options)
    : flow_(std::move(flow)),
      density_(density.up_to(reading_time(flow_.space, *flow_.path, options.t1))),
      options_(options),
      control_(flow_) {
  if (options_.times < kRowsPerStratum || options_.times % kRowsPerStratum != 0)
    fail_input("times = ", options_.times, ": expected a multiple of ", kRowsPerStratum);
  constexpr double kRowsPerTime = 6;  // noise with both signs, corner, state, endpoint and their difference
  const auto numbers = static_cast<double>(options_.times) * static_cast<double>(flow_.space.n_coordinates());
  require_memory(kRowsPerTime * static_cast<double>(flow_.options.dtype().itemsize()) * numbers,
                 concat("an item of the ", flow_.space.describe(), " at ", options_.times, " times"),
                 flow_.options.device());
  endpoint_ = endpoint_blocks(flow_);
}

int64_t FreeBound::items_per_block() const {
  return flow_.options.device().is_cpu() ? 1 : std::max<int64_t>(1, endpoint_->rows() / options_.times);
}

int64_t FreeBound::items_per_call() const { return items_per_block() * n_threads(); }

struct FreeBound::Rows {
  int64_t n_items, n_pairs;
  torch::Tensor labels{};  // [R, n], R = items * pairs * 2
  torch::Tensor corner{};  // [R, S]
  torch::Tensor noise{};   // [R, S]
  torch::Tensor v{};       // [R, S]
  torch::Tensor t{};       // [R]
  torch::Tensor weight{};  // [items, pairs, 1] float64: of |u - D|^2 in the integral

  Known known{};  // of the rows

  /// [R, m] -> [items, pairs, m].
  torch::Tensor mean_of_signs(const torch::Tensor& rows) const {
    return rows.view({n_items, n_pairs, 2, rows.size(1)}).mean(2);
  }
};

FreeBound::Rows FreeBound::draw_rows(const torch::Tensor& labels, const Known& known,
                                     const std::vector<uint64_t>& seeds) const {
  const auto k = static_cast<int64_t>(seeds.size());
  const int64_t pairs = options_.times / 2;
  const int64_t S = flow_.space.n_coordinates();
  // Two pairs per stratum; strata have equal probability under the density.
  auto u = torch::empty({k, pairs});
  auto noise = torch::empty({k, pairs, S}, flow_.options);
  for (int64_t item = 0; item < k; ++item) {
    fill_uniform(u[item], {seeds[item], Purpose::likelihood_time}, 0);
    noise[item] = reference_noise(flow_.space, {seeds[item], Purpose::likelihood_noise}, 0, pairs, flow_.options);
  }
  const auto stratum = torch::arange(pairs, torch::kFloat64).div(kPairsPerStratum, "floor");
  const int64_t n_strata = pairs / kPairsPerStratum;
  const auto [t, density] = density_.at((u.to(torch::kFloat64) + stratum) / static_cast<double>(n_strata));
  const auto each = [&](const torch::Tensor& per_pair) {  // [k, pairs] -> [R, 1]
    return per_pair.to(flow_.options).unsqueeze(2).expand({k, pairs, 2}).reshape({-1, 1});
  };
  const auto at = flow_.path->at(t);
  Rows rows{.n_items = k, .n_pairs = pairs};
  rows.labels = labels.repeat_interleave(2 * pairs, 0);
  rows.known = known.repeat_each(2 * pairs);
  rows.corner = only_open(flow_.space, rows.known, corners(flow_.space, *flow_.path, rows.labels, flow_.options));
  rows.noise = only_open(flow_.space, rows.known, torch::stack({noise, -noise}, 2).view({-1, S}));
  rows.v = each(at.a) * rows.corner + each(at.s) * rows.noise;
  rows.t = each(t).squeeze(1);
  rows.weight = (information_rate(at) / density).to(flow_.options.device()).unsqueeze(2);
  return rows;
}

torch::Tensor FreeBound::log_q_of(const torch::Tensor& labels, const Known& known) const {
  if (!options_.control) return {};
  return control_.log_q(labels, known, [this](const State& state) { return (*endpoint_)(state); });
}

// |x|^2 over all labels of each variable, or over all variables: [R, S] -> [R, n] or [R, 1] float64.
torch::Tensor FreeBound::squared(const torch::Tensor& x) const {
  if (!options_.per_variable) return x.square().sum(1, /*keepdim=*/true, torch::kFloat64);
  return reduce_blocks(flow_.space, {x},
                       [](const auto& in) { return in[0].square().sum(-1, /*keepdim=*/false, torch::kFloat64); });
}

// log p of the labels of the variables that the flow carries, likewise.
torch::Tensor FreeBound::picked(const Known& known, const torch::Tensor& log_p, const torch::Tensor& labels) const {
  const auto each = pick(flow_.space, log_p, labels);
  if (!options_.per_variable) return sum_open(known, each).unsqueeze(1);
  const auto wide = each.to(torch::kFloat64);
  return known.labels.defined() ? torch::where(open_variables(known), wide, torch::zeros({1}, wide.options())) : wide;
}

torch::Tensor FreeBound::pair_estimates(const torch::Tensor& labels, const Known& known, const torch::Tensor& log_q,
                                        const std::vector<uint64_t>& seeds) const {
  const Rows rows = draw_rows(labels, known, seeds);
  const auto error = squared(rows.corner - (*endpoint_)({rows.v, rows.t, rows.known}));
  const auto end = flow_.path->at(t1());
  const auto read = matched_readout(flow_.space, *flow_.path, end.a * rows.corner + end.s * rows.noise, t1());
  const auto misread = picked(rows.known, read, rows.labels);
  const auto estimates = rows.weight * rows.mean_of_signs(error) - rows.mean_of_signs(misread);
  return log_q.defined() ? estimates - pair_controls(rows, labels, known, log_q, read) : estimates;
}

torch::Tensor FreeBound::pair_controls(const Rows& rows, const torch::Tensor& labels, const Known& known,
                                       const torch::Tensor& log_q, const torch::Tensor& read) const {
  const auto row_log_q = log_q.repeat_interleave(2 * rows.n_pairs, 0);
  const auto error = squared(rows.corner - control_.endpoint(row_log_q, rows.v, rows.t));
  const auto misread = picked(rows.known, log_lift(flow_.space, read + row_log_q), rows.labels);
  const auto answer = -picked(known, log_q, labels).unsqueeze(1);  // [items, 1, m]
  return rows.weight * rows.mean_of_signs(error) - rows.mean_of_signs(misread) - answer;
}

ItemScores FreeBound::operator()(const torch::Tensor& all_labels) const {
  const torch::NoGradGuard no_grad;
  check_labels(flow_.space, all_labels, Unknowns::allow);
  const int64_t N = all_labels.size(0);
  const auto seeds = item_seeds(all_labels, options_.seed);
  const auto device = flow_.options.device();
  const Known all_known = known_of(all_labels, options_.given).to(flow_.options);
  const auto labels = all_labels.clamp_min(0);
  const int64_t per_block = items_per_block();
  const int64_t n_blocks = (N + per_block - 1) / per_block;
  std::vector<torch::Tensor> estimates(n_blocks);
  // On a GPU blocks have a fixed number of rows, one block for many items. On the CPU each item is computed separately.
  const auto all_log_q = device.is_cpu() || N == 0 ? torch::Tensor() : log_q_of(labels.to(device), all_known);
  for_each_block(n_blocks, device.is_cpu(), [&](int64_t block) {
    const torch::NoGradGuard no_grad_here;
    const int64_t first = block * per_block;
    const int64_t last = std::min(N, first + per_block);
    const auto some = labels.slice(0, first, last).to(device);
    const Known known = all_known.slice(first, last);
    const auto log_q = all_log_q.defined() ? all_log_q.slice(0, first, last) : log_q_of(some, known);
    estimates[block] = pair_estimates(some, known, log_q, {seeds.begin() + first, seeds.begin() + last});
  });
  if (N == 0) return {.log_p = torch::empty({0}, torch::kFloat64), .std_error = torch::empty({0}, torch::kFloat64)};
  const auto parts = torch::cat(estimates).cpu();  // [N, pairs, m]
  const auto pairs = options_.per_variable ? parts.sum(2) : parts.squeeze(2);
  if (!pairs.isfinite().all().item<bool>())
    fail("the network gave endpoints that are not finite; the model's weights may be damaged");
  ItemScores scores{.log_p = -pairs.mean(1), .std_error = stratified_error(pairs)};
  if (options_.per_variable) scores.cells = -parts.mean(1);
  return scores;
}

}  // namespace segre
