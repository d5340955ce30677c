// Training step by step, samplers and bounds, with the names of C++.

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "bindings.h"
#include "labels.h"
#include "segre/core/error.h"
#include "segre/likelihood/flow_bound.h"
#include "segre/likelihood/free_bound.h"
#include "segre/recipes/experiment.h"
#include "segre/runs/load_run.h"
#include "work.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace segre::python {
namespace {

using Set = std::vector<std::string>;

// A trainer with the source it reads.
class SteppedTrainer {
 public:
  SteppedTrainer(const Model& model, std::shared_ptr<DataSource> source, const Set& set, uint64_t seed)
      : model_(model), source_(std::move(source)) {
    Experiment experiment;
    auto schema = schema_of(experiment);
    for (const auto& assignment : set) schema.set(assignment, "option");
    model_.field().fit(*source_);
    trainer_ = std::make_unique<Trainer>(model_, *source_, experiment.train, seed);
  }

  // The losses of the next `count` steps; Ctrl-C ends them early.
  std::vector<double> step(int64_t count) {
    std::vector<double> losses;
    for (int64_t k = 0; k < count; ++k) {
      losses.push_back(trainer_->step());
      if (interrupted()) throw Interrupted();
    }
    return losses;
  }
  int64_t n_steps() const { return trainer_->n_steps(); }
  int64_t total() const { return trainer_->options().steps; }
  // The averaged weights become those of the network.
  void use_average() { load_weights(model_.field(), trainer_->state(), /*averaged=*/true); }
  std::map<std::string, torch::Tensor> state() const {
    std::map<std::string, torch::Tensor> copy;
    for (const auto& [name, tensor] : trainer_->state()) copy.emplace(name, tensor.detach().cpu().clone());
    return copy;
  }
  void load(const std::map<std::string, torch::Tensor>& state) {
    NamedTensors named;
    for (const auto& [name, tensor] : state) named[name] = tensor.clone();
    trainer_->load(named);
  }

 private:
  Model model_;
  std::shared_ptr<DataSource> source_;
  std::unique_ptr<Trainer> trainer_;
};

Sampler make_sampler(const Flow& flow, const Set& set, uint64_t seed) {
  Experiment experiment;
  set_sample_keys(experiment, set, "option");
  return {flow, experiment.sample, seed};
}

using Score = std::pair<torch::Tensor, torch::Tensor>;  // log_p, std_error: [N]

// Scores of labels [N, n], so many distinct items at a time; Ctrl-C ends them in between.
template <class Bound>
Score in_parts(const Space& space, const torch::Tensor& labels, int64_t at_once, const Bound& bound) {
  const auto items = distinct_items(checked_labels(space, labels, Unknowns::allow));
  std::vector<torch::Tensor> log_p, error;
  for (const auto& part : items.labels.split(std::max<int64_t>(1, at_once))) {
    if (interrupted()) throw Interrupted();
    const ItemScores scores = bound(part);
    log_p.push_back(scores.log_p);
    error.push_back(total_error(scores));
  }
  return {torch::cat(log_p).index_select(0, items.place), torch::cat(error).index_select(0, items.place)};
}

Score free_bound(const Flow& flow, const torch::Tensor& labels, int64_t times, uint64_t seed) {
  constexpr int64_t kStates = 1 << 17;
  const TimeDensity density(decision_time(flow.space, *flow.path));
  return in_parts(flow.space, labels, kStates / std::max<int64_t>(1, times),
                  FreeBound(flow, density, {.times = times, .seed = seed}));
}

Score flow_bound(const Flow& flow, const torch::Tensor& labels, int64_t draws, uint64_t seed, bool log_mean) {
  constexpr int64_t kStates = 1 << 8;  // each is carried along the whole path
  FlowBoundOptions options{.draws = draws, .seed = seed};
  if (log_mean) options.trace.kind = TraceKind::exact;
  const FlowBound bound(flow, options);
  return in_parts(flow.space, labels, kStates / std::max<int64_t>(1, draws), [&](const torch::Tensor& part) {
    auto weights = bound.draws(part, 0, std::min(draws, kStates));
    for (int64_t first = kStates; first < draws; first += kStates) {
      if (interrupted()) throw Interrupted();
      weights = join_draws(weights, bound.draws(part, first, std::min(draws - first, kStates)));
    }
    return log_mean ? log_mean_of_weights(weights) : mean_of_weights(weights);
  });
}

// Samples first ... first + count - 1; Ctrl-C ends them between groups of blocks.
torch::Tensor draw(const Sampler& sampler, uint64_t first, int64_t count) {
  const auto group = static_cast<uint64_t>(16 * sampler.rows_per_block());
  const uint64_t end = first + static_cast<uint64_t>(count);
  auto labels = torch::empty({count, sampler.space().n_variables()}, torch::kInt64);
  for (uint64_t from = first; from < end;) {
    if (interrupted()) throw Interrupted();
    const uint64_t to = std::min(end, (from / group + 1) * group);
    const auto part = sampler.draw(from, static_cast<int64_t>(to - from)).labels;
    labels.slice(0, static_cast<int64_t>(from - first), static_cast<int64_t>(to - first)).copy_(part);
    from = to;
  }
  return labels;
}

}  // namespace

void bind_train(nb::module_& m) {
  nb::class_<SteppedTrainer>(m, "Trainer")
      .def(nb::init<const Model&, std::shared_ptr<DataSource>, const Set&, uint64_t>(), "model"_a, "source"_a, "set"_a,
           "seed"_a, nb::call_guard<Work>())
      .def("step", &SteppedTrainer::step, "count"_a, nb::call_guard<Work>())
      .def_prop_ro("n_steps", &SteppedTrainer::n_steps)
      .def_prop_ro("total", &SteppedTrainer::total)
      .def("use_average", &SteppedTrainer::use_average, nb::call_guard<Work>())
      .def("state", &SteppedTrainer::state, nb::call_guard<Work>())
      .def("load", &SteppedTrainer::load, "state"_a, nb::call_guard<Work>());

  nb::class_<Sampler>(m, "Sampler")
      .def_prop_ro("space", [](const Sampler& sampler) { return sampler.space(); })
      .def("draw", &draw, "first"_a, "count"_a, nb::call_guard<Work>())
      .def(
          "complete",
          [](const Sampler& sampler, const torch::Tensor& labels, uint64_t first, int64_t draw) {
            return sampler.complete({.labels = checked_labels(sampler.space(), labels, Unknowns::allow)}, first, draw)
                .labels;
          },
          "labels"_a, "first"_a, "draw"_a, nb::call_guard<Work>())
      .def(
          "probabilities",
          [](const Sampler& sampler, const torch::Tensor& labels, uint64_t first) {
            const Known known{.labels = checked_labels(sampler.space(), labels, Unknowns::allow)};
            return with_corners(sampler.space(), known, sampler.probabilities(known, first));
          },
          "labels"_a, "first"_a, nb::call_guard<Work>())
      .def("trajectories", &Sampler::trajectories, "count"_a, nb::call_guard<Work>())
      .def_prop_ro("times", &Sampler::times);
  m.def("make_sampler", &make_sampler, "flow"_a, "set"_a, "seed"_a, nb::call_guard<Work>());
  m.def("free_bound", &free_bound, "flow"_a, "labels"_a, "times"_a, "seed"_a, nb::call_guard<Work>());
  m.def("flow_bound", &flow_bound, "flow"_a, "labels"_a, "draws"_a, "seed"_a, "log_mean"_a, nb::call_guard<Work>());
}

}  // namespace segre::python
