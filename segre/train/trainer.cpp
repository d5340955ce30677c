#include "segre/train/trainer.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "segre/core/error.h"
#include "segre/core/memory.h"
#include "segre/core/parallel.h"
#include "segre/core/streams.h"
#include "segre/space/check_labels.h"
#include "segre/train/device_exchange.h"
#include "segre/train/parameter_exchange.h"
#include "segre/train/state_names.h"
#include "segre/train/state_shares.h"

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

uint64_t to_unsigned(int64_t count) { return static_cast<uint64_t>(count); }

[[noreturn]] void fail_non_finite(double loss, int64_t step) {
  fail("the loss is ", loss, " at step ", step, "; a smaller train.lr may help");
}

// Whether ranks may share a batch: its items do not influence each other, and there is something to learn from them.
bool divides_batches(const Field& field) { return !field.couples_items() && !field.parameters().empty(); }

// Parts of a batch, each handled by one thread. Depends only on the batch and the network: gradients are added in a
// tree of the shards, so bits do not depend on the number of threads or ranks. A power of two, so that ranks divide it
// well.
int64_t shards_of(const Field& field, const TrainOptions& options) {
  if (!divides_batches(field) || options.batch < 1) return 1;
  if (options.shards > 0)
    return std::min(options.shards, static_cast<int64_t>(std::bit_floor(to_unsigned(options.batch))));
  constexpr int64_t kNumbers = 3 << 16;  // activations; below this, the overhead of calling LibTorch dominates a shard
  const int64_t worthwhile = kNumbers / std::max<int64_t>(1, field.n_activations());
  const int64_t half = (options.batch + 1) / 2;  // with more parts, adding their gradients would cost what they save
  const int64_t rows = std::min(field.shard_rows(), half >= worthwhile ? half : options.batch);
  return static_cast<int64_t>(std::bit_ceil(to_unsigned((options.batch + rows - 1) / rows)));
}

Tensors parameters_of(const Field& field) {
  Tensors parameters;
  for (const auto& [name, parameter] : field.parameters()) parameters.push_back(parameter);
  return parameters;
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
                 torch::ScalarType compute, std::shared_ptr<Ranks> ranks)
    : model_(std::move(model)),
      source_(source),
      options_(options),
      seed_(seed),
      ranks_(std::move(ranks)),
      law_(options.time_law, model_.shared_path(), decision_time(model_.space(), model_.path()), options.reweight,
           model_.options()),
      evidence_(model_.space(), options.evidence, source.has_unknowns() ? Unknowns::allow : Unknowns::refuse, seed,
                model_.options()),
      n_shards_(shards_of(model_.field(), options)),
      exchange_(ranks_->are_many() && n_shards_ > 1 && model_.options().device().is_cpu()
                    ? std::make_shared<ParameterExchange>(ranks_, parameters_of(model_.field()), n_shards_)
                    : nullptr),
      losses_(torch::zeros({kLossRing}, model_.options())),
      go_(torch::ones({1}, model_.options())) {
  if (options_.objective == Objective::cross_entropy && model_.form() == Form::velocity)
    fail_input(
        "train.objective = \"cross_entropy\" needs model.form = \"endpoint\" or \"evidence\": the velocity form has no "
        "label logits");
  check_same_counts(model_.space(), source_.space());
  if (source_.has_unknowns() && options_.fill_holes && options_.evidence.kind != EvidenceKind::uniform &&
      TrainingHoles::can_fill(model_))
    holes_.emplace(model_, seed_);
  if (!evidence_.is_idle() && (options_.objective != Objective::cross_entropy || model_.form() != Form::evidence))
    fail_input(source_.has_unknowns() ? "data with unknown labels" : "train.evidence",
               " needs model.form = \"evidence\" and train.objective = \"cross_entropy\"");
  if (options_.evidence.kind != EvidenceKind::uniform && options_.reweight)
    fail_input("train.reweight weights every item by its one time; it needs train.evidence = \"uniform\"");
  if (options_.batch < 1) fail_input("train.batch = ", options_.batch, ": expected at least 1");
  if (options_.shards > 0 && !std::has_single_bit(to_unsigned(options_.shards)))
    fail_input("train.shards = ", options_.shards, ": expected a power of two, or 0");
  const auto device = model_.options().device();
  // On the CPU only the shards in progress are inside the network.
  const int64_t inside = device.is_cpu() ? std::min(options_.batch, shard(0).count() * n_threads()) : options_.batch;
  require_memory(
      4.0 * (static_cast<double>(options_.batch) * static_cast<double>(kRowsPerItem * model_.space().n_coordinates()) +
             static_cast<double>(inside) * static_cast<double>(model_.field().n_activations())),
      concat("a batch of ", options_.batch, " items of the ", model_.space().describe()), device);
  Tensors weights;
  for (const auto& parameter : parameters_of(model_.field())) weights.push_back(parameter.detach());
  // From here on Adam holds the float32 weights.
  if (compute != torch::kFloat32) model_.field().reduce_precision(compute);
  if (!device.is_cpu() && ranks_->exchanges() && divides_batches(model_.field())) share_on_device();
  std::shared_ptr<StateShares> shares = exchange_;
  if (on_device_) shares = on_device_;
  adam_ = std::make_unique<Adam>(model_.field().parameters(), options_.adam, shares, weights);
  if (device.is_cpu()) return;
  resident_ = labels_on(source_, device, available_memory(device) / 2);
  captured_ = capture();
}

void Trainer::share_on_device() {
  if (options_.batch < ranks_->size())
    fail_input("train.batch = ", options_.batch, ": ", ranks_->size(), " ranks need an item each");
  on_device_ = std::make_shared<DeviceExchange>(
      parameters_of(model_.field()), options_.batch, own_items(), ranks_->on(model_.options().device()),
      options_.reduce == ReduceType::bfloat16 ? torch::kBFloat16 : torch::kFloat32);
}

Trainer::~Trainer() = default;

// Without the right to share, every rank does all of a batch.
Rows Trainer::own_shards() const { return n_shards_ > 1 ? ranks_->share_of(n_shards_) : Rows{0, 1}; }

Rows Trainer::shard(int64_t k) const { return {options_.batch * k / n_shards_, options_.batch * (k + 1) / n_shards_}; }

Rows Trainer::own_items() const {
  if (!model_.options().device().is_cpu())
    return divides_batches(model_.field()) ? ranks_->share_of(options_.batch) : Rows{0, options_.batch};
  const Rows shards = own_shards();
  return {options_.batch * shards.from / n_shards_, options_.batch * shards.to / n_shards_};
}

// Evaluates this rank's shards. labels [K, n] and told: this rank's items; weight [B]: the whole batch.
std::vector<ObjectiveValue> Trainer::evaluate_shards(const torch::Tensor& labels, const EvidenceLaw::Draw& told,
                                                     const torch::Tensor& weight, uint64_t first_item) const {
  const Rows own = own_shards();
  const int64_t first = own_items().from;
  std::vector<ObjectiveValue> shards(own.count());
  for_each_block(own.count(), /*on_cpu=*/true, [&](int64_t k) {
    const Rows rows = shard(own.from + k);
    const int64_t from = rows.from - first;
    const int64_t to = rows.to - first;
    const uint64_t item = first_item + to_unsigned(rows.from);
    auto sample = sample_path(model_.space(), model_.path(), labels.slice(0, from, to), told.t.slice(0, from, to),
                              {seed_, Purpose::training_noise}, item, needs_velocity(options_.objective),
                              told.known.slice(from, to));
    // Turns the mean over the shard into its part of the mean over the batch.
    sample.weight =
        weight.slice(0, rows.from, rows.to) * (static_cast<double>(rows.count()) / static_cast<double>(options_.batch));
    sample.training = {seed_, torch::full({1}, static_cast<int64_t>(item), torch::kInt64)};
    shards[k] = evaluate(model_, sample, options_.objective);
  });
  return shards;
}

StepInputs Trainer::inputs_of(int64_t step) const {
  const Rows own = own_items();
  const auto first_of_batch = to_unsigned(step) * to_unsigned(options_.batch);
  const auto first_item = first_of_batch + to_unsigned(own.from);
  const RandomStream order{seed_, Purpose::training_data};
  StepInputs inputs;
  if (resident_.defined()) {
    inputs.rows = stream_rows(order, first_item, own.count(), source_.n_items(), source_.mirrors());
  } else {
    inputs.labels = source_.items(order, first_item, own.count());
    const Unknowns unknowns = source_.has_unknowns() ? Unknowns::allow : Unknowns::refuse;
    check_labels(model_.space(), inputs.labels, unknowns);  // the source may be the user's own
    if (captured_) inputs.labels = inputs.labels.to(label_type(model_.space(), unknowns));
  }
  inputs.u = TimeLaw::uniforms({seed_, Purpose::training_time}, first_of_batch, options_.batch);
  const auto first_noise = first_item * to_unsigned(model_.space().n_coordinates());
  const auto first_cell = first_item * to_unsigned(model_.space().n_variables());
  inputs.counters = torch::tensor({static_cast<int64_t>(first_noise), step % kLossRing,
                                   static_cast<int64_t>(first_cell), static_cast<int64_t>(first_item)},
                                  torch::kInt64);
  if (!evidence_.is_idle()) inputs.evidence = evidence_.numbers(first_item, own.count());
  const auto numbers = kernels::adam_numbers(adam_->numbers(learning_rate(options_.schedule, step, options_.steps)));
  inputs.numbers = torch::tensor(at::ArrayRef<float>(numbers.data(), numbers.size()));
  return inputs;
}

// What is known about a whole batch after its shards: [B] each.
struct Trainer::Whole {
  torch::Tensor loss;
  torch::Tensor error;
  torch::Tensor plain;  // bool; undefined: all
  Tensors gradients;    // of this rank's parameters, see ParameterExchange
};

Trainer::Whole Trainer::join_shards(std::vector<ObjectiveValue> shards, const torch::Tensor& plain) {
  const int64_t K = own_items().count();
  auto items = torch::zeros({K, 3}, model_.options());  // loss, error, plain of this rank's items
  std::vector<TreeNode> nodes;
  for (size_t k = 0; k < shards.size(); ++k) {
    const auto number = own_shards().from + static_cast<int64_t>(k);
    const int64_t from = shard(number).from - own_items().from;
    items.select(1, 0).narrow(0, from, shards[k].loss.size(0)).copy_(shards[k].loss);
    items.select(1, 1).narrow(0, from, shards[k].error.size(0)).copy_(shards[k].error);
    // Sums are taken in the precision of the weights, whatever that of the network.
    for (auto& gradient : shards[k].gradients)
      if (gradient.defined()) gradient = gradient.to(model_.options().dtype());
    nodes.push_back({0, number, std::move(shards[k].gradients)});
  }
  if (plain.defined()) items.select(1, 2).copy_(plain);
  nodes = merge_nodes(std::move(nodes));
  Whole whole;
  if (!exchange_) {
    whole.gradients = std::move(nodes.front().sum);
  } else {
    std::vector<int64_t> counts;
    for (int k = 0; k < ranks_->size(); ++k) {
      const Rows theirs{n_shards_ * k / ranks_->size(), n_shards_ * (k + 1) / ranks_->size()};
      counts.push_back(options_.batch * theirs.to / n_shards_ - options_.batch * theirs.from / n_shards_);
    }
    items = ranks_->gather(items, counts);
    whole.gradients = exchange_->sum(std::move(nodes));
  }
  whole.loss = items.select(1, 0).contiguous();
  whole.error = items.select(1, 1).contiguous();
  if (plain.defined()) whole.plain = items.select(1, 2) > 0.5;
  return whole;
}

// labels [K, n] of this rank's items, shard by shard.
torch::Tensor Trainer::fill_holes(const torch::Tensor& labels, uint64_t first_item) const {
  if (!holes_) return labels;
  const Rows own = own_shards();
  std::vector<torch::Tensor> shards(own.count());
  for_each_block(own.count(), /*on_cpu=*/true, [&](int64_t k) {
    const Rows rows = shard(own.from + k);
    const auto first_cell = (first_item + to_unsigned(rows.from)) * to_unsigned(model_.space().n_variables());
    shards[k] = (*holes_)(labels.slice(0, rows.from - own_items().from, rows.to - own_items().from),
                          torch::full({1}, static_cast<int64_t>(first_cell), torch::kInt64));
  });
  return torch::cat(shards);
}

void Trainer::run_on_cpu(const StepInputs& inputs) {
  const int64_t number = n_steps();
  const auto first_item = to_unsigned(number) * to_unsigned(options_.batch);
  const auto labels = fill_holes(inputs.labels, first_item);
  const auto time = law_.at(inputs.u);
  const auto told = evidence_(labels, time.t, inputs.evidence, inputs.counters.slice(0, 2, 3), own_items().from);
  const Whole whole = join_shards(evaluate_shards(labels, told, time.weight, first_item), told.plain);
  const double loss = (time.weight * whole.loss).mean().item<double>();
  if (!std::isfinite(loss)) fail_non_finite(loss, number);
  const auto& parameters = model_.field().parameters();
  for (size_t k = 0; k < parameters.size(); ++k) parameters[k].second.mutable_grad() = whole.gradients[k];
  adam_->step(learning_rate(options_.schedule, number, options_.steps), exchange_.get());
  losses_[number % kLossRing] = loss;
  law_.learn(time.t, whole.error, whole.plain);
}

// Captured, like all of the following: nothing may wait for the device or depend on values that the host knows only at
// the first call. The own items of the batch; `plain` is which of them are, see EvidenceLaw.
ObjectiveValue Trainer::evaluate_on_device(const StepInputs& inputs, const TimeLaw::Draw& time, torch::Tensor& plain) {
  const Rows own = own_items();
  auto labels = resident_.defined() ? gather_items(source_.space(), source_.mirrors(), resident_, inputs.rows)
                                    : inputs.labels.to(torch::kInt64);
  if (holes_) labels = (*holes_)(labels, inputs.counters.slice(0, 2, 3));
  const auto told = evidence_(labels, time.t, inputs.evidence, inputs.counters.slice(0, 2, 3), own.from);
  plain = told.plain;
  auto sample = sample_path(model_.space(), model_.path(), labels, told.t, {seed_, Purpose::training_noise},
                            inputs.counters.slice(0, 0, 1), needs_velocity(options_.objective), told.known);
  sample.weight = time.weight;
  if (own.count() < options_.batch)  // turns the mean over this rank's items into their part of that over the batch
    sample.weight = time.weight.narrow(0, own.from, own.count()) *
                    (static_cast<double>(own.count()) / static_cast<double>(options_.batch));
  sample.training = {seed_, inputs.counters.slice(0, 3, 4)};
  return evaluate(model_, sample, options_.objective);
}

// What a whole batch gave: [B] each; gradients as Adam takes them, and their squared norm [1].
struct Trainer::DeviceResult {
  torch::Tensor loss, error, plain;
  Tensors gradients;
  torch::Tensor norm;
};

void Trainer::finish_on_device(const StepInputs& inputs, const TimeLaw::Draw& time, const DeviceResult& result) {
  const auto loss = (time.weight * result.loss).mean().view(1);
  losses_.index_copy_(0, inputs.counters.slice(0, 1, 2), loss);
  go_.mul_(loss.isfinite());
  // Many kernels too small to fill the device; Adam leaves room for them.
  const auto join = beside(model_.options().device(), [&] { law_.learn(time.t, result.error, result.plain); });
  adam_->update_on_device(result.gradients, result.norm, inputs.numbers, go_);
  join();
}

// A step without an exchange.
void Trainer::run_on_device(const StepInputs& inputs) {
  const auto time = law_.at(inputs.u);
  torch::Tensor plain;
  ObjectiveValue value = evaluate_on_device(inputs, time, plain);
  const auto norm = torch::empty({1}, go_.options());
  adam_->measure_on_device(value.gradients, norm);
  finish_on_device(inputs, time, {value.loss, value.error, plain, std::move(value.gradients), norm});
}

// A step with one: what comes before it and what comes after.
void Trainer::compute_on_device(const StepInputs& inputs) {
  on_device_->begin();
  torch::Tensor plain;
  drawn_ = law_.at(inputs.u);
  const ObjectiveValue value = evaluate_on_device(inputs, drawn_, plain);
  on_device_->end(value.loss, value.error, plain);
}

void Trainer::apply_on_device(const StepInputs& inputs) {
  const bool all_plain = options_.evidence.kind == EvidenceKind::uniform;
  finish_on_device(inputs, drawn_,
                   {on_device_->loss(), on_device_->error(), all_plain ? torch::Tensor() : on_device_->plain(),
                    on_device_->gradients(), on_device_->squared_norm()});
  on_device_->pack();
}

// A step with an exchange, cut where ranks talk.
std::vector<CapturedStep::Stage> Trainer::stages() {
  return {{[this](const StepInputs& inputs) { compute_on_device(inputs); }, [this] { on_device_->finish_sums(); }},
          {[this](const StepInputs& /*inputs*/) {
             adam_->measure_on_device(on_device_->gradients(), on_device_->squared_norm());
           },
           [this] { on_device_->sum_items(); }},
          {[this](const StepInputs& inputs) { apply_on_device(inputs); }, [this] { on_device_->spread(); }},
          {[this](const StepInputs& /*inputs*/) { on_device_->unpack(); }}};
}

std::unique_ptr<CapturedStep> Trainer::capture() {
  const auto device = model_.options().device();
  using Stages = std::vector<CapturedStep::Stage>;
  Stages parts{{[this](const StepInputs& inputs) { run_on_device(inputs); }}};
  if (on_device_) parts = stages();
  if (!on_device_ || !on_device_->ranks().is_capturable()) return std::make_unique<CapturedStep>(parts, device);
  const auto in_one = [parts](const StepInputs& inputs) {
    for (const auto& part : parts) {
      part.work(inputs);
      if (part.then) part.then();
    }
  };
  return std::make_unique<CapturedStep>(Stages{{in_one}}, device);
}

void Trainer::advance() {
  model_.field().set_training(true);
  const auto inputs = inputs_of(n_steps());
  if (!captured_) return run_on_cpu(inputs);
  (*captured_)(inputs);
  adam_->count_step();
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
  NamedTensors out = adam_->average();
  for (const auto& [name, buffer] : model_.field().buffers()) out[state_names::kBuffers + name] = buffer;
  return out;
}

NamedTensors Trainer::state() const {
  wait();
  NamedTensors out = adam_->state();
  out.merge(law_.state());
  for (const auto& [name, buffer] : model_.field().buffers()) out[state_names::kBuffers + name] = buffer;
  return out;
}

void Trainer::load(const NamedTensors& state) {
  const torch::NoGradGuard no_grad;
  for (const auto& [name, buffer] : model_.field().buffers()) copy_from(buffer, state, state_names::kBuffers + name);
  model_.field().refresh();
  adam_->load(state);
  law_.load(state);
  n_taken_ = n_steps();
  wait();  // the copies above are not on the step's stream
}

int64_t total_steps(const TrainOptions& options, const DataSource& source) {
  if (options.epochs == 0) return options.steps;
  if (source.n_items() == 0)
    fail_input("train.epochs = ", options.epochs,
               ": the data are endless and have no epochs; set train.steps instead (--set train.steps=N)");
  return std::max<int64_t>(1, options.epochs * source.n_items() / options.batch);
}

NamedTensors named_weights(const Field& field, bool averaged) {
  NamedTensors named;
  for (const auto& [name, weight] : field.parameters()) named[state_names::weights_in_use(averaged) + name] = weight;
  for (const auto& [name, buffer] : field.buffers()) named[state_names::kBuffers + name] = buffer;
  return named;
}

void load_weights(Field& field, const NamedTensors& state, bool averaged) {
  const torch::NoGradGuard no_grad;
  const char* const prefix = state_names::weights_in_use(averaged);
  for (const auto& [name, weight] : field.parameters()) copy_from(weight, state, prefix + name);
  for (const auto& [name, buffer] : field.buffers()) copy_from(buffer, state, state_names::kBuffers + name);
  field.refresh();
}

}  // namespace segre
