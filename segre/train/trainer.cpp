#include "segre/train/trainer.h"

#include <cmath>

#include "segre/core/error.h"
#include "segre/core/memory.h"

namespace segre {
namespace {

void copy_from(const torch::Tensor& target, const NamedTensors& state, const std::string& name) {
  const auto at = state.find(name);
  if (at == state.end()) fail_input("the checkpoint has no tensor ", name);
  if (at->second.sizes() != target.sizes())
    fail_input("the checkpoint's tensor ", name, " has shape ", at->second.sizes(), ", the network's has ",
               target.sizes());
  target.copy_(at->second);
}

// Items that one thread takes through the network at a time: their activations stay in its cache.
constexpr int64_t kShardRows = 256;

// Losses end to end, gradients added in order.
ObjectiveValue combine(std::vector<ObjectiveValue> shards) {
  if (shards.size() == 1) return std::move(shards.front());
  ObjectiveValue out;
  std::vector<torch::Tensor> losses;
  std::vector<torch::Tensor> errors;
  for (const ObjectiveValue& shard : shards) {
    losses.push_back(shard.loss);
    errors.push_back(shard.error);
    if (out.gradients.empty()) {
      out.gradients = shard.gradients;
    } else {
      for (size_t k = 0; k < out.gradients.size(); ++k)
        if (out.gradients[k].defined()) out.gradients[k].add_(shard.gradients[k]);
    }
  }
  out.loss = torch::cat(losses);
  out.error = torch::cat(errors);
  return out;
}

// Rows of S floats alive at once in a step: noise, path, softmax, logits, gradient and what autograd keeps.
constexpr int64_t kRowsPerItem = 10;

}  // namespace

Trainer::Trainer(Model model, const DataSource& source, const TrainOptions& options, uint64_t seed)
    : model_(std::move(model)),
      source_(source),
      options_(options),
      seed_(seed),
      law_(options.time_law, model_.shared_path(), decision_time(model_.space(), model_.path()), options.reweight),
      adam_(model_.field().parameters(), options.adam) {
  if (options_.objective == Objective::cross_entropy && model_.form() == Form::velocity)
    fail_input(
        "train.objective = \"cross_entropy\" needs model.form = \"endpoint\" or \"evidence\": the velocity form has no "
        "label logits");
  const auto per_item =
      static_cast<double>(kRowsPerItem * model_.space().n_coordinates() + model_.field().n_activations());
  require_memory(4.0 * static_cast<double>(options_.batch) * per_item,
                 concat("a batch of ", options_.batch, " items of the ", model_.space().describe()),
                 model_.options().device());
}

ObjectiveValue Trainer::evaluate_batch(const torch::Tensor& labels, const TimeLaw::Draw& time,
                                       uint64_t first_item) const {
  const int64_t n = labels.size(0);
  // Batch normalisation needs the whole batch at once, and a GPU wants it.
  const bool whole = !labels.device().is_cpu() || !model_.field().buffers().empty();
  const int64_t rows = whole ? n : kShardRows;
  std::vector<ObjectiveValue> shards((n + rows - 1) / rows);
  at::parallel_for(0, static_cast<int64_t>(shards.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const int64_t from = k * rows;
      const int64_t to = std::min(n, from + rows);
      auto sample = sample_path(model_.space(), model_.path(), labels.slice(0, from, to), time.t.slice(0, from, to),
                                {seed_, Purpose::training_noise}, first_item + static_cast<uint64_t>(from),
                                needs_velocity(options_.objective));
      // The mean over the shard becomes its part of the mean over the batch.
      sample.weight = time.weight.slice(0, from, to) * (static_cast<double>(to - from) / static_cast<double>(n));
      shards[k] = evaluate(model_, sample, options_.objective);
    }
  });
  return combine(std::move(shards));
}

double Trainer::step() {
  const int64_t number = n_steps();
  const auto first_item = static_cast<uint64_t>(number) * static_cast<uint64_t>(options_.batch);
  const auto device = model_.options().device();
  const auto labels = source_.items({seed_, Purpose::training_data}, first_item, options_.batch).to(device);
  const auto time = law_.draw({seed_, Purpose::training_time}, first_item, options_.batch, model_.options());
  model_.field().set_training(true);
  const ObjectiveValue value = evaluate_batch(labels, time, first_item);
  const double loss = (time.weight * value.loss).mean().item<double>();
  if (!std::isfinite(loss)) fail("the loss is ", loss, " at step ", number, "; a smaller train.lr may help");
  law_.learn(time.t, value.error);
  const auto& parameters = model_.field().parameters();
  for (size_t k = 0; k < parameters.size(); ++k) parameters[k].second.mutable_grad() = value.gradients[k];
  adam_.step(learning_rate(options_.schedule, number, options_.steps));
  return loss;
}

NamedTensors Trainer::state() const {
  NamedTensors out = adam_.state();
  out.merge(law_.state());
  for (const auto& [name, weight] : model_.field().parameters()) out["weights." + name] = weight;
  for (const auto& [name, buffer] : model_.field().buffers()) out["buffers." + name] = buffer;
  return out;
}

void Trainer::load(const NamedTensors& state) {
  load_weights(model_.field(), state, /*averaged=*/false);
  adam_.load(state);
  law_.load(state);
}

void load_weights(Field& field, const NamedTensors& state, bool averaged) {
  const torch::NoGradGuard no_grad;
  const std::string prefix = averaged ? "ema." : "weights.";
  for (const auto& [name, weight] : field.parameters()) copy_from(weight, state, prefix + name);
  for (const auto& [name, buffer] : field.buffers()) copy_from(buffer, state, "buffers." + name);
}

}  // namespace segre
