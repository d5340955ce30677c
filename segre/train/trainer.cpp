#include "segre/train/trainer.h"

#include <algorithm>
#include <cmath>

#include "segre/core/error.h"
#include "segre/core/memory.h"
#include "segre/core/parallel.h"
#include "segre/core/side_work.h"
#include "segre/space/check_labels.h"

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

// Concatenates losses and adds gradients in order.
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

[[noreturn]] void fail_non_finite(double loss, int64_t step) {
  fail("the loss is ", loss, " at step ", step, "; a smaller train.lr may help");
}

// Rows of a batch that one thread handles. Depends only on the batch: gradients are added in the order of the shards,
// so bits do not depend on the number of threads.
int64_t rows_per_shard(const Field& field, int64_t batch) {
  if (field.couples_items()) return batch;
  constexpr int64_t kNumbers = 3 << 16;  // activations; below this, the overhead of calling LibTorch dominates a shard
  const int64_t worthwhile = kNumbers / std::max<int64_t>(1, field.n_activations());
  const int64_t half = (batch + 1) / 2;  // with more parts, adding their gradients would cost what they save
  return std::min(field.shard_rows(), half >= worthwhile ? half : batch);
}

// Labels index memory: a model with different label counts would be written out of bounds.
void check_same_counts(const Space& model, const Space& data) {
  if (model.n_variables() != data.n_variables())
    fail_input("the data have ", data.n_variables(), " variables, the model ", model.n_variables());
  for (int64_t i = 0; i < model.n_variables(); ++i)
    if (model.n_labels(i) != data.n_labels(i))
      fail_input("variable ", data.variable_name(i), " has ", data.n_labels(i), " labels in the data and ",
                 model.n_labels(i), " in the model");
}

// Rows of S floats alive at once in a step: noise, path, softmax, logits, gradient and autograd's buffers.
constexpr int64_t kRowsPerItem = 10;

}  // namespace

Trainer::Trainer(Model model, const DataSource& source, const TrainOptions& options, uint64_t seed,
                 torch::ScalarType compute)
    : model_(std::move(model)),
      source_(source),
      options_(options),
      seed_(seed),
      law_(options.time_law, model_.shared_path(), decision_time(model_.space(), model_.path()), options.reweight,
           model_.options()),
      evidence_(model_.space(), options.evidence, source.has_unknowns() ? Unknowns::allow : Unknowns::refuse, seed,
                model_.options()),
      adam_(model_.field().parameters(), options.adam),
      losses_(torch::zeros({kLossRing}, model_.options())),
      go_(torch::ones({1}, model_.options())) {
  if (options_.objective == Objective::cross_entropy && model_.form() == Form::velocity)
    fail_input(
        "train.objective = \"cross_entropy\" needs model.form = \"endpoint\" or \"evidence\": the velocity form has no "
        "label logits");
  check_same_counts(model_.space(), source_.space());
  if (!evidence_.is_idle() && (options_.objective != Objective::cross_entropy || model_.form() != Form::evidence))
    fail_input(source_.has_unknowns() ? "data with unknown labels" : "train.evidence",
               " needs model.form = \"evidence\" and train.objective = \"cross_entropy\"");
  if (options_.evidence.kind != EvidenceKind::uniform && options_.reweight)
    fail_input("train.reweight weights every item by its one time; it needs train.evidence = \"uniform\"");
  if (options_.batch < 1) fail_input("train.batch = ", options_.batch, ": expected at least 1");
  const auto device = model_.options().device();
  // On the CPU only the shards in progress are inside the network.
  const int64_t inside = device.is_cpu()
                             ? std::min(options_.batch, rows_per_shard(model_.field(), options_.batch) * n_threads())
                             : options_.batch;
  require_memory(
      4.0 * (static_cast<double>(options_.batch) * static_cast<double>(kRowsPerItem * model_.space().n_coordinates()) +
             static_cast<double>(inside) * static_cast<double>(model_.field().n_activations())),
      concat("a batch of ", options_.batch, " items of the ", model_.space().describe()), device);
  // From here on Adam holds the float32 weights.
  if (compute != torch::kFloat32) model_.field().reduce_precision(compute);
  if (device.is_cpu()) return;
  if (const Dataset* dataset = source_.dataset();
      dataset != nullptr && static_cast<int64_t>(dataset->labels.nbytes()) < available_memory(device) / 2) {
    check_integer_labels(model_.space(), dataset->labels, dataset->unknowns);  // they are not checked on the device
    resident_ = dataset->labels.to(device);
  }
  captured_ = std::make_unique<CapturedStep>([this](const StepInputs& inputs) { run_on_device(inputs); }, device);
}

Trainer::~Trainer() = default;

ObjectiveValue Trainer::evaluate_shards(const torch::Tensor& labels, const EvidenceLaw::Draw& told,
                                        const torch::Tensor& weight, uint64_t first_item) const {
  const int64_t n = labels.size(0);
  const int64_t rows = rows_per_shard(model_.field(), n);
  std::vector<ObjectiveValue> shards((n + rows - 1) / rows);
  for_each_block(static_cast<int64_t>(shards.size()), /*on_cpu=*/true, [&](int64_t k) {
    const int64_t from = k * rows;
    const int64_t to = std::min(n, from + rows);
    auto sample = sample_path(model_.space(), model_.path(), labels.slice(0, from, to), told.t.slice(0, from, to),
                              {seed_, Purpose::training_noise}, first_item + static_cast<uint64_t>(from),
                              needs_velocity(options_.objective), told.known.slice(from, to));
    // Turns the mean over the shard into its part of the mean over the batch.
    sample.weight = weight.slice(0, from, to) * (static_cast<double>(to - from) / static_cast<double>(n));
    sample.training = {seed_, torch::full({1}, static_cast<int64_t>(first_item) + from, torch::kInt64)};
    shards[k] = evaluate(model_, sample, options_.objective);
  });
  return combine(std::move(shards));
}

StepInputs Trainer::inputs_of(int64_t step) const {
  const auto first_item = static_cast<uint64_t>(step) * static_cast<uint64_t>(options_.batch);
  const RandomStream order{seed_, Purpose::training_data};
  StepInputs inputs;
  if (resident_.defined()) {
    inputs.rows = stream_rows(order, first_item, options_.batch, source_.n_items(), source_.dataset()->mirror);
  } else {
    inputs.labels = source_.items(order, first_item, options_.batch);
    const Unknowns unknowns = source_.has_unknowns() ? Unknowns::allow : Unknowns::refuse;
    check_labels(model_.space(), inputs.labels, unknowns);  // the source may be the user's own
    if (captured_) inputs.labels = inputs.labels.to(label_type(model_.space(), unknowns));
  }
  inputs.u = TimeLaw::uniforms({seed_, Purpose::training_time}, first_item, options_.batch);
  const auto first_noise = first_item * static_cast<uint64_t>(model_.space().n_coordinates());
  const auto first_cell = first_item * static_cast<uint64_t>(model_.space().n_variables());
  inputs.counters = torch::tensor({static_cast<int64_t>(first_noise), step % kLossRing,
                                   static_cast<int64_t>(first_cell), static_cast<int64_t>(first_item)},
                                  torch::kInt64);
  if (!evidence_.is_idle()) inputs.evidence = evidence_.numbers(first_item, options_.batch);
  const auto numbers = kernels::adam_numbers(adam_.numbers(learning_rate(options_.schedule, step, options_.steps)));
  inputs.numbers = torch::tensor(at::ArrayRef<float>(numbers.data(), numbers.size()));
  return inputs;
}

void Trainer::run_on_cpu(const StepInputs& inputs) {
  const int64_t number = n_steps();
  const auto time = law_.at(inputs.u);
  const auto told = evidence_(inputs.labels, time.t, inputs.evidence, inputs.counters.slice(0, 2, 3));
  const ObjectiveValue value = evaluate_shards(inputs.labels, told, time.weight,
                                               static_cast<uint64_t>(number) * static_cast<uint64_t>(options_.batch));
  const double loss = (time.weight * value.loss).mean().item<double>();
  if (!std::isfinite(loss)) fail_non_finite(loss, number);
  const auto& parameters = model_.field().parameters();
  for (size_t k = 0; k < parameters.size(); ++k) parameters[k].second.mutable_grad() = value.gradients[k];
  adam_.step(learning_rate(options_.schedule, number, options_.steps));
  losses_[number % kLossRing] = loss;
  law_.learn(time.t, value.error, told.plain);
}

// Captured: nothing here may wait for the device or depend on values the host knows only at the first call.
void Trainer::run_on_device(const StepInputs& inputs) {
  const auto labels =
      resident_.defined() ? gather_items(*source_.dataset(), resident_, inputs.rows) : inputs.labels.to(torch::kInt64);
  const auto time = law_.at(inputs.u);
  const auto told = evidence_(labels, time.t, inputs.evidence, inputs.counters.slice(0, 2, 3));
  auto sample = sample_path(model_.space(), model_.path(), labels, told.t, {seed_, Purpose::training_noise},
                            inputs.counters.slice(0, 0, 1), needs_velocity(options_.objective), told.known);
  sample.weight = time.weight;
  sample.training = {seed_, inputs.counters.slice(0, 3, 4)};
  const ObjectiveValue value = evaluate(model_, sample, options_.objective);
  const auto loss = (time.weight * value.loss).mean().view(1);
  losses_.index_copy_(0, inputs.counters.slice(0, 1, 2), loss);
  go_.mul_(loss.isfinite());
  // Many kernels too small to fill the device; Adam leaves room for them.
  const auto join = beside(model_.options().device(), [&] { law_.learn(time.t, value.error, told.plain); });
  adam_.step_on_device(value.gradients, inputs.numbers, go_);
  join();
}

void Trainer::advance() {
  model_.field().set_training(true);
  const auto inputs = inputs_of(n_steps());
  if (!captured_) return run_on_cpu(inputs);
  (*captured_)(inputs);
  adam_.count_step();
}

void Trainer::wait() const {
  if (captured_) captured_->synchronize();
}

std::vector<double> Trainer::take_losses() {
  wait();
  const auto ring = losses_.to(torch::kCPU);
  const bool good = !captured_ || go_.item<float>() != 0.0f;
  std::vector<double> losses;
  for (; n_taken_ < n_steps(); ++n_taken_) {
    const double loss = ring[n_taken_ % kLossRing].item<double>();
    if (!std::isfinite(loss)) fail_non_finite(loss, n_taken_);
    losses.push_back(loss);
  }
  if (!good)
    fail("a gradient was not finite between steps ", n_taken_ - static_cast<int64_t>(losses.size()), " and ",
         n_taken_ - 1, "; a smaller train.lr or train.clip may help");
  return losses;
}

double Trainer::step() {
  advance();
  return take_losses().back();
}

double Trainer::nats() const {
  wait();
  return law_.nats();
}

NamedTensors Trainer::average() const {
  wait();
  NamedTensors out = adam_.average();
  for (const auto& [name, buffer] : model_.field().buffers()) out["buffers." + name] = buffer;
  return out;
}

NamedTensors Trainer::state() const {
  wait();
  NamedTensors out = adam_.state();
  out.merge(law_.state());
  for (const auto& [name, buffer] : model_.field().buffers()) out["buffers." + name] = buffer;
  return out;
}

void Trainer::load(const NamedTensors& state) {
  const torch::NoGradGuard no_grad;
  for (const auto& [name, buffer] : model_.field().buffers()) copy_from(buffer, state, "buffers." + name);
  model_.field().refresh();
  adam_.load(state);
  law_.load(state);
  n_taken_ = n_steps();
  wait();  // the copies above are not on the step's stream
}

int64_t total_steps(const TrainOptions& options, const DataSource& source) {
  if (options.epochs == 0) return options.steps;
  if (source.n_items() == 0)
    fail_input("train.epochs = ", options.epochs,
               ": the data are drawn without end and have no epochs; set train.steps");
  return std::max<int64_t>(1, options.epochs * source.n_items() / options.batch);
}

void load_weights(Field& field, const NamedTensors& state, bool averaged) {
  const torch::NoGradGuard no_grad;
  const std::string prefix = averaged ? "ema." : "weights.";
  for (const auto& [name, weight] : field.parameters()) copy_from(weight, state, prefix + name);
  for (const auto& [name, buffer] : field.buffers()) copy_from(buffer, state, "buffers." + name);
  field.refresh();
}

}  // namespace segre
