#include "segre/train/validation.h"

#include <cmath>
#include <limits>

#include "segre/core/error.h"
#include "segre/core/one_thread.h"
#include "segre/core/parallel.h"
#include "segre/data/split.h"
#include "segre/train/state_names.h"

namespace segre {
namespace {

constexpr uint64_t kSeed = 0;  // the same for every run

// At most `most` rows, evenly spaced.
torch::Tensor spread_out(const torch::Tensor& labels, int64_t most) {
  const int64_t n = labels.size(0);
  return n <= most ? labels : labels.index_select(0, (torch::arange(most) * n).div(most, "floor"));
}

// Checks held-out items and returns them.
const torch::Tensor& checked(const Space& space, const torch::Tensor& labels) {
  check_labels(space, labels, Unknowns::allow);
  if (labels.size(0) == 0) fail_input("validation needs held-out items, found none");
  return labels;
}

// One stratum of [0, 1) per evaluation. An item's strata are equally spaced and assigned at random: with strata in item
// order, a sorted file would show its first items only early on the path and its last ones only late.
torch::Tensor shuffled_times(int64_t n_items, int64_t evaluations) {
  const int64_t rounds = std::max<int64_t>(1, (evaluations + n_items - 1) / n_items);
  const RandomStream random{kSeed, Purpose::validation_time};
  auto stratum = torch::empty({n_items}, torch::kInt64);
  for (int64_t k = 0; k < n_items; ++k) stratum.data_ptr<int64_t>()[k] = shuffled(random, 0, k, n_items);
  const auto index = torch::arange(rounds).unsqueeze(1) * n_items + stratum;  // [rounds, K]
  return TimeLaw::uniforms(random, 0, rounds * n_items).index_select(0, index.flatten());
}

}  // namespace

Validation::Validation(Model model, const torch::Tensor& labels, Objective objective, double t_max, int64_t evaluations)
    : model_(std::move(model)),
      labels_(spread_out(checked(model_.space(), labels), evaluations).to(model_.options().device())),
      times_(shuffled_times(labels_.size(0), evaluations)),
      objective_(objective),
      t_max_(t_max),
      t1_(decision_time(model_.space(), model_.path())) {
  model_.field().set_training(false);
}

torch::Tensor Validation::measure(int64_t from, int64_t to) const {
  const torch::NoGradGuard no_grad;
  const auto t = (times_.slice(0, from, to) * t_max_).to(model_.options());
  const auto item = torch::arange(from, to, labels_.options().dtype(torch::kInt64)).remainder(labels_.size(0));
  const auto labels = labels_.index_select(0, item);
  const auto sample = sample_path(model_.space(), model_.path(), labels, t, {kSeed, Purpose::validation_noise},
                                  static_cast<uint64_t>(from), needs_velocity(objective_), known_of(labels));
  const auto value = evaluate(model_, sample, objective_);
  const auto rate = information_rate(model_.path().at(t));
  const auto information = torch::where(t < t1_, t_max_ * rate * value.error, torch::zeros_like(t));
  return torch::stack({value.loss, information}).to(torch::kCPU, torch::kFloat64);
}

ValidationResult Validation::operator()(const NamedTensors& weights, Ranks& ranks) {
  {
    const torch::NoGradGuard no_grad;
    for (const auto& [name, parameter] : model_.field().parameters()) parameter.copy_(weights.at(name));
    for (const auto& [name, buffer] : model_.field().buffers())
      if (const auto at = weights.find(state_names::kBuffers + name); at != weights.end()) buffer.copy_(at->second);
    model_.field().refresh();
  }
  const int64_t E = times_.size(0);
  const bool on_cpu = labels_.is_cpu();
  constexpr int64_t kNumbers = 1 << 26;  // coordinates at once on a GPU; with 65,536 labels an item has many
  const int64_t fitting = std::clamp<int64_t>(kNumbers / model_.space().n_coordinates(), 1, 256);
  const int64_t rows = on_cpu ? std::min<int64_t>(64, model_.field().shard_rows()) : fitting;
  const Rows blocks = ranks.share_of((E + rows - 1) / rows);
  std::vector<torch::Tensor> parts(blocks.count(), torch::empty({2, 0}, torch::kFloat64));
  for_each_block(blocks.count(), on_cpu, [&](int64_t k) {
    const int64_t from = (blocks.from + k) * rows;
    parts[k] = measure(from, std::min(E, from + rows));
  });
  const OneThread alone;                                   // the same summation order for any number of threads
  parts.push_back(torch::empty({2, 0}, torch::kFloat64));  // a rank may have no blocks
  const auto all = ranks.gather(torch::cat(parts, 1).t().contiguous()).t().contiguous();  // [2, E]
  const auto of_items = all.view({2, -1, labels_.size(0)}).mean(1);                       // [2, K]
  const auto mean = of_items.mean(1);
  // An item's mean includes the scatter of its times and noise, so the spread between items covers all three.
  const auto n_items = static_cast<double>(labels_.size(0));
  const double error =
      n_items > 1 ? std::sqrt(of_items[1].var().item<double>() / n_items) : std::numeric_limits<double>::quiet_NaN();
  return {mean[0].item<double>(), mean[1].item<double>(), error, of_items[1].clone()};
}

}  // namespace segre
