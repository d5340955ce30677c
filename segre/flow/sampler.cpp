#include "segre/flow/sampler.h"

#include <algorithm>
#include <cmath>

#include "segre/core/error.h"
#include "segre/core/memory.h"
#include "segre/core/parallel.h"
#include "segre/flow/few_rows.h"
#include "segre/flow/row_blocks.h"
#include "segre/flow/sampler_kinds.h"
#include "segre/model/joint_oracle.h"
#include "segre/path/path_sample.h"
#include "segre/path/simplex.h"
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
                                        .order = options.order});
  if (flow_.from_evidence) marginals_ = marginal_blocks(flow_);
}

Sampler::Sampler(const Model& model, const SampleOptions& options, uint64_t seed)
    : Sampler(flow_of(model), options, seed) {}

torch::Tensor Sampler::noise(const NumberedRows& rows) const {
  return reference_noise(flow_.space, {rows.seed, Purpose::sampling_noise}, rows.first, rows.count, flow_.options);
}

// Log probability of every label for the readouts that draw: [rows, S].
torch::Tensor Sampler::log_probability(const torch::Tensor& v, const Known& known) const {
  if (options_.readout == Readout::segre || t1() >= flow_.path->t_end()) return log_lift(flow_.space, v);
  if (!known.soft.defined()) return matched_readout(flow_.space, *flow_.path, v, t1());
  return log_lift(flow_.space, matched_readout(flow_.space, *flow_.path, v, t1()) + known.soft);
}

// Number of variables whose label the state does not decide: [rows].
torch::Tensor Sampler::count_undecided(const torch::Tensor& v, const Known& known) const {
  const Space& space = flow_.space;
  const auto count = [&](const torch::Tensor& undecided) {
    return (known.labels.defined() ? undecided.logical_and(open_variables(known)) : undecided).sum(-1);
  };
  if (t1() < flow_.path->t_end()) {
    const auto log_p = matched_readout(space, *flow_.path, v, t1());
    const auto best = reduce_blocks(space, {log_p}, [](const auto& in) { return in[0].amax(-1); });
    return count(best < std::log(kDecided));
  }
  // The end is a mean corner kappa (pi - 1/c), which gives pi. softmax(v) would not work: at the smoothed corner of a
  // decided label it is 1 - eps + eps/c.
  const auto shares = v / corner_scales(space, *flow_.path, v.options());
  const auto best = reduce_blocks(
      space, {shares}, [](const auto& in) { return in[0].amax(-1) + 1.0 / static_cast<double>(in[0].size(-1)); });
  return count(best < kDecided);
}

torch::Tensor Sampler::read(const torch::Tensor& v, const Departure& from) const {
  const Space& space = flow_.space;
  const Known& known = from.known;
  // Soft evidence is part of what is known at the end, too: it may exclude a label for good.
  if (options_.readout == Readout::argmax)
    return argmax_labels(space, known.soft.defined() && t1() < flow_.path->t_end() ? log_probability(v, known) : v);
  const auto log_p = log_probability(v, known);
  const int64_t n = space.n_variables();
  const auto u = from.numbers([&](const NumberedRows& rows) {
    return fill_uniform(torch::empty({rows.count, n}, v.options()), {rows.seed, Purpose::readout},
                        rows.first * static_cast<uint64_t>(n));
  });
  return reduce_blocks(space, {log_p, spread(space, u)}, [](const auto& in) {
    return (in[0].exp().cumsum(-1) <= in[1]).sum(-1).clamp_max(in[0].size(-1) - 1);
  });
}

// A block of rows, or a few of them.
Sampler::Block Sampler::draw_block(const Known& known, const std::vector<NumberedRows>& parts) const {
  const torch::NoGradGuard no_grad;
  Departure from{.v_0 = {}, .known = known, .parts = parts};
  from.v_0 = only_open(flow_.space, known, from.numbers([this](const NumberedRows& rows) { return noise(rows); }));
  const Arrival arrival = (*integrator_)(from);
  auto labels = arrival.labels.defined() ? arrival.labels : read(arrival.v, from);
  const auto undecided = arrival.labels.defined() ? torch::zeros({from.v_0.size(0)}, torch::kInt64)
                                                  : count_undecided(arrival.v, known).to(torch::kCPU);
  if (known.labels.defined()) labels = torch::where(known.labels == kUnknown, labels, known.labels.clamp_min(kUnknown));
  return {labels.to(torch::kCPU), undecided, arrival.n_evaluations};
}

// How rows begin ... end - 1 of a block are computed: if they are at most a quarter of it, a few rows at a time. Each
// of these takes longer than a row of a block, about four times on two cores.
std::vector<Rows> Sampler::cuts_of(int64_t begin, int64_t end, Work work, const Known& known) const {
  constexpr int64_t kPart = 4;
  const SamplerKind& kind = sampler_kind(options_.sampler);
  // An adaptive step depends on powers, which few numbers may round differently from many.
  const bool may_differ = work == Work::draw && kind.adaptive();
  if (!flow_.few_rows || !flow_.options.device().is_cpu() || may_differ || (end - begin) * kPart > rows_)
    return {{0, rows_}};
  const bool fills = work == Work::draw && kind.counts_steps;  // erasure: from marginals, labels being known
  const int shape = shape_of(known) | (fills ? 1 : 0);
  const auto asked = fills || work == Work::marginals ? FewRows::Asked::log_marginals : FewRows::Asked::endpoint;
  const int64_t few = (*flow_.few_rows)(flow_, asked, shape);
  std::vector<Rows> cuts;
  for (int64_t row = begin / few * few; row < end; row += few) cuts.push_back({row, row + few});
  return cuts;
}

std::vector<Sampler::Part> Sampler::parts_of(uint64_t first, int64_t count, Work work, const Known& known) const {
  const auto rows = static_cast<uint64_t>(rows_);
  const uint64_t last = first + static_cast<uint64_t>(count);
  std::vector<Part> parts;
  for (uint64_t block = first / rows; block * rows < last; ++block) {
    const uint64_t start = block * rows;
    const auto begin = static_cast<int64_t>(std::max(first, start) - start);
    const auto end = static_cast<int64_t>(std::min(last, start + rows) - start);
    for (const Rows& cut : cuts_of(begin, end, work, known)) {
      const int64_t from = std::max(begin, cut.from);
      const uint64_t cut_start = start + static_cast<uint64_t>(cut.from);
      parts.push_back({cut_start, cut.count(), from - cut.from, std::min(end, cut.to) - cut.from,
                       static_cast<int64_t>(start + static_cast<uint64_t>(from) - first)});
    }
  }
  return parts;
}

// What is known of all rows that are computed: the request's rows where they are, and copies of one of them elsewhere.
Known Sampler::block_of(const Known& known, const Part& part) const {
  if (known.nothing()) return {};
  const auto place = torch::arange(part.rows) - part.begin;
  return known.select(part.first + place.clamp(0, part.end - part.begin - 1)).to(flow_.options);
}

Samples Sampler::draw(uint64_t first, int64_t count) const {
  if (count < 0) fail_input(count, " samples requested, expected 0 or more");
  return draw_parts(first, count, {}, seed_);
}

// The number of rows of what is known. Labels index memory, so they are checked here.
int64_t Sampler::check_known(const Known& known) const {
  if (known.nothing()) fail_input("completing needs rows with known labels");
  if (!flow_.from_evidence) fail_input("completing needs a model with model.form = \"evidence\"");
  if (known.labels.defined()) check_labels(flow_.space, known.labels.clamp_min(kUnknown), Unknowns::allow);
  const int64_t count = (known.labels.defined() ? known.labels : known.soft).size(0);
  if (known.soft.defined() && known.soft.sizes() != at::IntArrayRef{count, flow_.space.n_coordinates()})
    fail_input("likelihoods must have the shape [", count, ", ", flow_.space.n_coordinates(), "], found ",
               known.soft.sizes());
  return count;
}

Samples Sampler::complete(const Known& known, uint64_t first, int64_t draw) const {
  const int64_t count = check_known(known);
  return draw_parts(first, count, known, round_seed(seed_, draw));
}

torch::Tensor Sampler::completions(const Known& known, uint64_t first, int64_t from_draw, int64_t draws) const {
  const int64_t count = check_known(known);
  const int64_t n = flow_.space.n_variables();
  if (count == 0 || draws == 0) return torch::empty({count, draws, n}, torch::kInt64);
  const int64_t together = rows_ / count;
  std::vector<torch::Tensor> out;
  if (together < 2) {
    for (int64_t k = 0; k < draws; ++k) out.push_back(complete(known, first, from_draw + k).labels);
    return torch::stack(out, 1);
  }
  // The draws of a block lie one after another in it; rows beyond the last repeat what is known of the block's.
  const Known of_block = known.select(torch::arange(rows_).remainder(count)).to(flow_.options);
  struct Cut {
    int64_t from_draw;  // of its block
    Rows rows;          // of these, computed
    int64_t end;        // of these, wanted
  };
  std::vector<Cut> cuts;
  for (int64_t done = 0; done < draws; done += together) {
    const int64_t end = std::min(together, draws - done) * count;
    for (const Rows& rows : cuts_of(0, end, Work::draw, known)) cuts.push_back({from_draw + done, rows, end});
  }
  out.resize(cuts.size());
  for_each_block(static_cast<int64_t>(cuts.size()), flow_.options.device().is_cpu(), [&](int64_t k) {
    const auto& [first_draw, rows, end] = cuts[k];
    std::vector<NumberedRows> parts;
    for (int64_t row = rows.from; row < rows.to;) {
      const int64_t item = row % count;
      const int64_t here = std::min(count - item, rows.to - row);
      parts.push_back({here, first + static_cast<uint64_t>(item), round_seed(seed_, first_draw + row / count)});
      row += here;
    }
    out[k] =
        draw_block(of_block.slice(rows.from, rows.to), parts).labels.slice(0, 0, std::min(rows.to, end) - rows.from);
  });
  return torch::cat(out).view({draws, count, n}).transpose(0, 1).contiguous();
}

torch::Tensor Sampler::probabilities(const Known& known, uint64_t first) const {
  const torch::NoGradGuard no_grad;
  const int64_t count = check_known(known);
  if (count == 0) return torch::empty({0, flow_.space.n_coordinates()}, torch::kFloat64);
  const auto parts = parts_of(first, count, Work::marginals, known);
  std::vector<torch::Tensor> out(parts.size());
  for_each_block(static_cast<int64_t>(parts.size()), flow_.options.device().is_cpu(), [&](int64_t k) {
    const torch::NoGradGuard no_grad_here;
    const auto ask = [this](const State& state) { return (*marginals_)(state); };
    const auto log_p = marginals_given(flow_, ask, block_of(known, parts[k]), parts[k].rows);
    out[k] = log_p.slice(0, parts[k].begin, parts[k].end).to(torch::kCPU, torch::kFloat64).exp();
  });
  const auto all = torch::cat(out);
  if (!all.isfinite().all().item<bool>())
    fail("the network returned probabilities that are not finite; the model's weights may be damaged");
  return all;
}

Samples Sampler::draw_parts(uint64_t first, int64_t count, const Known& known, uint64_t seed) const {
  if (count == 0) return {.labels = torch::empty({0, flow_.space.n_variables()}, torch::kInt64)};
  // Labels, in batches and joined.
  require_memory(2.0 * 8.0 * static_cast<double>(count) * static_cast<double>(flow_.space.n_variables()),
                 concat(count, " samples of the ", flow_.space.describe()), torch::kCPU);
  const auto parts = parts_of(first, count, Work::draw, known);
  std::vector<Block> blocks(parts.size());
  for_each_block(static_cast<int64_t>(parts.size()), flow_.options.device().is_cpu(), [&](int64_t k) {
    const Part& part = parts[k];
    const Block drawn = draw_block(block_of(known, part), {{part.rows, part.start, seed}});
    blocks[k] = {drawn.labels.slice(0, part.begin, part.end), drawn.n_undecided.slice(0, part.begin, part.end),
                 drawn.n_evaluations.slice(0, part.begin, part.end)};
  });
  std::vector<torch::Tensor> labels;
  Samples out;
  for (const Block& block : blocks) {
    labels.push_back(block.labels);
    out.n_undecided += block.n_undecided.sum().item<int64_t>();
    out.n_evaluations += block.n_evaluations.sum().item<int64_t>();
  }
  out.labels = torch::cat(labels);
  return out;
}

torch::Tensor Sampler::trajectories(int64_t count) const {
  if (count < 1) fail_input(count, " trajectories requested, expected 1 or more");
  std::vector<torch::Tensor> states;
  (*integrator_)({noise({count, 0, seed_}), 0, seed_}, [&](const torch::Tensor& v, double) { states.push_back(v); });
  return torch::stack(states);
}

}  // namespace segre
