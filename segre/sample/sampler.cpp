#include "segre/sample/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "segre/core/error.h"
#include "segre/core/memory.h"
#include "segre/core/one_thread.h"
#include "segre/oracle/joint_oracle.h"
#include "segre/path/path_sample.h"
#include "segre/simplex/lift.h"
#include "segre/space/blocks.h"

namespace segre {
namespace {

int64_t power_of_two_below(int64_t value) {
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(1, value))));
}

// On the CPU a block is one thread's work: a quarter of a million numbers, large enough for the matrix products and
// small enough for a core's cache, and no more than 32 million inside the network, so that a few images keep all
// threads busy. A GPU wants more at once.
int64_t choose_rows(const Model& model) {
  const int64_t S = model.space().n_coordinates();
  if (!model.options().device().is_cpu()) return std::min<int64_t>(256, power_of_two_below((1 << 22) / S));
  const int64_t rows = std::min<int64_t>(1024, power_of_two_below((1 << 18) / S));
  return std::min(rows, power_of_two_below((1 << 25) / std::max<int64_t>(1, model.field().n_activations())));
}

double stop_time(const Model& model, const SampleOptions& options) {
  if (options.t1 > 0.0) {
    if (!std::isfinite(options.t1) || options.t1 > model.path().t_end())
      fail_input("sample.t1 = ", options.t1, ": the path ends at ", model.path().t_end());
    return options.t1;
  }
  if (options.stop == Stop::decision) return decision_time(model.space(), model.path());
  if (std::isinf(model.path().t_end()))
    fail_input("sample.stop = \"end\": the ", model.path().name(),
               " path has no end; choose \"decision\" or set sample.t1");
  return model.path().t_end();
}

constexpr int64_t kRowsPerItem = 10;  // states and stages of S numbers alive at once

}  // namespace

Sampler::Sampler(Model model, const SampleOptions& options, uint64_t seed)
    : model_(std::move(model)), options_(options), seed_(seed), rows_(choose_rows(model_)) {
  if (options_.steps < 1) fail_input("sample.steps = ", options_.steps, ": expected at least 1");
  const double t1 = stop_time(model_, options_);
  stepper(options_.sampler);  // refuses an unknown name now
  for (int64_t k = 0; k <= options_.steps; ++k)
    times_.push_back(t1 * static_cast<double>(k) / static_cast<double>(options_.steps));
  const auto per_item =
      static_cast<double>(kRowsPerItem * model_.space().n_coordinates() + model_.field().n_activations());
  require_memory(4.0 * static_cast<double>(rows_) * per_item, concat("sampling the ", model_.space().describe()),
                 model_.options().device());
  model_.field().set_training(false);
}

int64_t Sampler::n_evaluations() const {
  const int per_step = stepper(options_.sampler).n_evaluations;
  const bool to_end = t1() >= model_.path().t_end();
  return to_end ? per_step * (options_.steps - 1) + 1 : per_step * options_.steps;
}

torch::Tensor Sampler::noise(uint64_t first, int64_t count) const {
  return reference_noise(model_.space(), {seed_, Purpose::sampling_noise}, first, count, model_.options());
}

torch::Tensor Sampler::flow(const torch::Tensor& v_0,
                            const std::function<void(const torch::Tensor&, double)>& observe) const {
  const auto field = [this](const torch::Tensor& v, double t) { return model_.velocity_at(v, t); };
  if (t1() < model_.path().t_end()) return integrate(field, v_0, times_, stepper(options_.sampler), observe).v;
  // The endpoint forms divide by 1 - t. The last step to t = 1 is Euler's, whose only evaluation is at its start and
  // which lands on the predicted endpoint: v + (1 - t) F = D.
  const std::vector<double> before(times_.begin(), times_.end() - 1);
  const auto v = integrate(field, v_0, before, stepper(options_.sampler), observe).v;
  auto end = v + (times_.back() - before.back()) * field(v, before.back());
  if (observe) observe(end, times_.back());
  return end;
}

Sampler::Block Sampler::draw_block(uint64_t block) const {
  const torch::NoGradGuard no_grad;
  const Space& space = model_.space();
  const uint64_t first = block * static_cast<uint64_t>(rows_);
  const auto v = flow(noise(first, rows_), nullptr);
  const auto log_probability =
      t1() < model_.path().t_end() ? matched_readout(space, model_.path(), v, t1()) : log_lift(space, v);
  Block out;
  if (options_.readout == Readout::argmax) {
    out.labels = argmax_labels(space, v);
  } else {
    auto u = torch::empty({rows_, space.n_variables()}, v.options());
    fill_uniform(u, {seed_, Purpose::readout}, first * static_cast<uint64_t>(space.n_variables()));
    out.labels = reduce_blocks(space, {log_probability, spread(space, u)}, [](const auto& in) {
      return (in[0].exp().cumsum(-1) <= in[1]).sum(-1).clamp_max(in[0].size(-1) - 1);
    });
  }
  const auto best = reduce_blocks(space, {log_probability}, [](const auto& in) { return in[0].amax(-1); });
  out.labels = out.labels.to(torch::kCPU);
  out.n_undecided = (best < std::log(kDecided)).sum(-1).to(torch::kCPU);
  return out;
}

Samples Sampler::draw(uint64_t first, int64_t count) const {
  if (count == 0) return {torch::empty({0, model_.space().n_variables()}, torch::kInt64), 0};
  const auto rows = static_cast<uint64_t>(rows_);
  const uint64_t last = first + static_cast<uint64_t>(count);
  const uint64_t first_block = first / rows;
  const auto n_blocks = static_cast<int64_t>((last + rows - 1) / rows - first_block);
  std::vector<torch::Tensor> labels(n_blocks);
  std::vector<torch::Tensor> n_undecided(n_blocks);
  const auto draw_part = [&](int64_t k) {
    const uint64_t start = (first_block + static_cast<uint64_t>(k)) * rows;
    const auto begin = static_cast<int64_t>(std::max(first, start) - start);
    const auto end = static_cast<int64_t>(std::min(last, start + rows) - start);
    const Block drawn = draw_block(first_block + static_cast<uint64_t>(k));
    labels[k] = drawn.labels.slice(0, begin, end);
    n_undecided[k] = drawn.n_undecided.slice(0, begin, end);
  };
  // On the CPU a block is one thread's work: threads need not wait for each other at every operation.
  const int64_t grain = model_.options().device().is_cpu() ? 1 : n_blocks;
  at::parallel_for(0, n_blocks, grain, [&](int64_t begin, int64_t end) {
    const OneThread alone;
    for (int64_t k = begin; k < end; ++k) draw_part(k);
  });
  return {torch::cat(labels), torch::cat(n_undecided).sum().item<int64_t>()};
}

torch::Tensor Sampler::trajectories(int64_t count) const {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> states;
  flow(noise(0, count), [&](const torch::Tensor& v, double) { states.push_back(v); });
  return torch::stack(states);
}

}  // namespace segre
