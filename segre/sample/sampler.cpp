#include "segre/sample/sampler.h"

#include <algorithm>
#include <cmath>

#include "segre/core/error.h"
#include "segre/core/memory.h"
#include "segre/core/parallel.h"
#include "segre/flow/row_blocks.h"
#include "segre/oracle/joint_oracle.h"
#include "segre/path/path_sample.h"
#include "segre/simplex/lift.h"
#include "segre/space/blocks.h"

namespace segre {
namespace {

double stop_time(const Flow& flow, const SampleOptions& options) {
  if (options.t1 > 0.0) {
    if (!std::isfinite(options.t1) || options.t1 > flow.path->t_end())
      fail_input("sample.t1 = ", options.t1, ": the path ends at ", flow.path->t_end());
    return options.t1;
  }
  if (options.stop == Stop::decision) return decision_time(flow.space, *flow.path);
  if (std::isinf(flow.path->t_end()))
    fail_input("sample.stop = \"end\": the ", flow.path->name(),
               " path has no end; choose \"decision\" or set sample.t1");
  return flow.path->t_end();
}

constexpr int64_t kRowsPerItem = 20;  // states and stages of S numbers alive at once

void require_block_memory(const Flow& flow, int64_t rows) {
  const auto per_item = static_cast<double>(kRowsPerItem * flow.space.n_coordinates() + flow.n_activations);
  const auto bytes = static_cast<double>(flow.options.dtype().itemsize() * static_cast<size_t>(rows)) * per_item;
  require_memory(bytes, concat("sampling the ", flow.space.describe()), flow.options.device());
}

}  // namespace

Sampler::Sampler(Flow flow, const SampleOptions& options, uint64_t seed)
    : flow_(std::move(flow)), options_(options), seed_(seed), rows_(segre::rows_per_block(flow_)) {
  require_block_memory(flow_, rows_);
  integrator_ = make_integrator(flow_, {.sampler = options.sampler,
                                        .steps = options.steps,
                                        .t1 = stop_time(flow_, options),
                                        .tolerance = options.tolerance,
                                        .seed = seed});
}

Sampler::Sampler(const Model& model, const SampleOptions& options, uint64_t seed)
    : Sampler(flow_of(model), options, seed) {}

torch::Tensor Sampler::noise(uint64_t first, int64_t count) const {
  return reference_noise(flow_.space, {seed_, Purpose::sampling_noise}, first, count, flow_.options);
}

// Log probability of every label for the readouts that draw: [rows, S].
torch::Tensor Sampler::log_probability(const torch::Tensor& v) const {
  if (options_.readout == Readout::segre || t1() >= flow_.path->t_end()) return log_lift(flow_.space, v);
  return matched_readout(flow_.space, *flow_.path, v, t1());
}

// Number of variables whose label the state does not decide: [rows].
torch::Tensor Sampler::count_undecided(const torch::Tensor& v) const {
  const Space& space = flow_.space;
  if (t1() < flow_.path->t_end()) {
    const auto log_p = matched_readout(space, *flow_.path, v, t1());
    const auto best = reduce_blocks(space, {log_p}, [](const auto& in) { return in[0].amax(-1); });
    return (best < std::log(kDecided)).sum(-1);
  }
  // The end is a mean corner kappa (pi - 1/c), which gives pi. softmax(v) would not work: at the smoothed corner of a
  // decided label it is 1 - eps + eps/c.
  const auto shares = v / corner_scales(space, *flow_.path, v.options());
  const auto best = reduce_blocks(
      space, {shares}, [](const auto& in) { return in[0].amax(-1) + 1.0 / static_cast<double>(in[0].size(-1)); });
  return (best < kDecided).sum(-1);
}

torch::Tensor Sampler::read(const torch::Tensor& v, uint64_t first) const {
  const Space& space = flow_.space;
  if (options_.readout == Readout::argmax) return argmax_labels(space, v);
  const auto log_p = log_probability(v);
  auto u = torch::empty({v.size(0), space.n_variables()}, v.options());
  fill_uniform(u, {seed_, Purpose::readout}, first * static_cast<uint64_t>(space.n_variables()));
  return reduce_blocks(space, {log_p, spread(space, u)}, [](const auto& in) {
    return (in[0].exp().cumsum(-1) <= in[1]).sum(-1).clamp_max(in[0].size(-1) - 1);
  });
}

Sampler::Block Sampler::draw_block(uint64_t block) const {
  const torch::NoGradGuard no_grad;
  const uint64_t first = block * static_cast<uint64_t>(rows_);
  const Arrival arrival = (*integrator_)(noise(first, rows_), first);
  return {read(arrival.v, first).to(torch::kCPU), count_undecided(arrival.v).to(torch::kCPU), arrival.n_evaluations};
}

Samples Sampler::draw(uint64_t first, int64_t count) const {
  if (count < 0) fail_input(count, " samples requested, expected 0 or more");
  if (count == 0) return {.labels = torch::empty({0, flow_.space.n_variables()}, torch::kInt64)};
  // Labels, in batches and joined.
  require_memory(2.0 * 8.0 * static_cast<double>(count) * static_cast<double>(flow_.space.n_variables()),
                 concat(count, " samples of the ", flow_.space.describe()), torch::kCPU);
  const auto rows = static_cast<uint64_t>(rows_);
  const uint64_t last = first + static_cast<uint64_t>(count);
  const uint64_t first_block = first / rows;
  const auto n_blocks = static_cast<int64_t>((last + rows - 1) / rows - first_block);
  std::vector<Block> parts(n_blocks);
  const auto draw_part = [&](int64_t k) {
    const uint64_t start = (first_block + static_cast<uint64_t>(k)) * rows;
    const auto begin = static_cast<int64_t>(std::max(first, start) - start);
    const auto end = static_cast<int64_t>(std::min(last, start + rows) - start);
    const Block drawn = draw_block(first_block + static_cast<uint64_t>(k));
    parts[k] = {drawn.labels.slice(0, begin, end), drawn.n_undecided.slice(0, begin, end),
                drawn.n_evaluations.slice(0, begin, end)};
  };
  for_each_block(n_blocks, flow_.options.device().is_cpu(), draw_part);
  std::vector<torch::Tensor> labels;
  Samples out;
  for (const Block& part : parts) {
    labels.push_back(part.labels);
    out.n_undecided += part.n_undecided.sum().item<int64_t>();
    out.n_evaluations += part.n_evaluations.sum().item<int64_t>();
  }
  out.labels = torch::cat(labels);
  return out;
}

torch::Tensor Sampler::trajectories(int64_t count) const {
  if (count < 1) fail_input(count, " trajectories requested, expected 1 or more");
  std::vector<torch::Tensor> states;
  (*integrator_)(noise(0, count), 0, [&](const torch::Tensor& v, double) { states.push_back(v); });
  return torch::stack(states);
}

}  // namespace segre
