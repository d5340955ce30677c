#include "segre/train/device_exchange.h"

#include <algorithm>
#include <map>

#include "segre/kernels/copy_each.h"

namespace segre {
namespace {

using kernels::in_memory_order;

// Large enough for bandwidth, small enough to start early; packing one during the backward pass takes a few
// microseconds more than packing it with the others at the end.
constexpr int64_t kBucketBytes = int64_t{50} << 20;
constexpr int64_t kLastBytes = int64_t{4} << 20;  // of what is sent when there is nothing left to compute
constexpr int64_t kAlignment = 64;                // numbers; more than vectorised loads of any type need

int64_t rounded_up(int64_t count, int64_t to) { return (count + to - 1) / to * to; }

}  // namespace

DeviceExchange::DeviceExchange(std::vector<torch::Tensor> parameters, int64_t batch, Rows own,
                               std::unique_ptr<DeviceRanks> ranks, torch::ScalarType type)
    : parameters_(std::move(parameters)),
      batch_(batch),
      own_items_(own),
      ranks_(std::move(ranks)),
      items_(torch::zeros({3 * batch + 1}, parameters_.front().options().dtype(torch::kFloat32).requires_grad(false))),
      places_(parameters_.size()),
      has_gradient_(parameters_.size(), false) {
  divide(type);
  allocate(type);
  for (size_t k = 0; k < parameters_.size(); ++k)
    hooks_.push_back(parameters_[k].register_hook([this, k](const torch::Tensor& gradient) { arrived(k, gradient); }));
}

DeviceExchange::~DeviceExchange() {
  for (size_t k = 0; k < parameters_.size(); ++k) parameters_[k].remove_hook(hooks_[k]);
}

// The backward pass arrives at the first parameters last.
void DeviceExchange::divide(torch::ScalarType type) {
  std::map<torch::ScalarType, size_t> filling;  // type of parameters -> bucket
  for (size_t k = 0; k < parameters_.size(); ++k) {
    const int64_t count = rounded_up(parameters_[k].numel(), kAlignment);
    const auto kind = parameters_[k].scalar_type();
    const auto is_full = [&](const Bucket& bucket) {
      const int64_t most = bucket.is_last ? kLastBytes : kBucketBytes;
      return (bucket.count + count) * static_cast<int64_t>(c10::elementSize(type)) > most;
    };
    const bool is_last = !filling.contains(kind);
    if (is_last || is_full(buckets_[filling[kind]])) {
      filling[kind] = buckets_.size();
      buckets_.push_back({.is_last = is_last});
    }
    Bucket& bucket = buckets_[filling[kind]];
    places_[k] = {filling[kind], bucket.count};
    bucket.members.push_back(k);
    bucket.count += count;
  }
}

void DeviceExchange::allocate(torch::ScalarType type) {
  for (Bucket& bucket : buckets_) {
    bucket.count = rounded_up(bucket.count, kAlignment * ranks_->size());
    const auto& first = parameters_[bucket.members.front()];
    const auto bytes = std::max<int64_t>(c10::elementSize(type), first.element_size());
    const auto memory = torch::zeros({bucket.count * bytes}, torch::TensorOptions(first.device()).dtype(torch::kUInt8));
    bucket.gradients = memory.view(type).narrow(0, 0, bucket.count);
    bucket.parameters = memory.view(first.scalar_type()).narrow(0, 0, bucket.count);
  }
}

Rows DeviceExchange::own(size_t k) const {
  const auto [bucket, offset] = places_[k];
  const int64_t part = buckets_[bucket].count / ranks_->size();
  const int64_t first = part * ranks_->rank() - offset;
  const int64_t from = std::clamp<int64_t>(first, 0, parameters_[k].numel());
  return {from, std::clamp<int64_t>(first + part, from, parameters_[k].numel())};
}

// These numbers of parameter k among those of its bucket.
torch::Tensor DeviceExchange::in(const torch::Tensor& numbers, size_t k, const Rows& rows) const {
  return numbers.narrow(0, places_[k].offset + rows.from, rows.count());
}

void DeviceExchange::begin() {
  for (Bucket& bucket : buckets_) bucket.started = false;
}

void DeviceExchange::arrived(size_t k, const torch::Tensor& gradient) {
  has_gradient_[k] = true;
  Bucket& bucket = buckets_[places_[k].bucket];
  bucket.arrived.push_back(kernels::in_layout_of(parameters_[k], gradient.detach()));
  bucket.places.push_back(in(bucket.gradients, k, {0, parameters_[k].numel()}));
  if (bucket.is_last || bucket.arrived.size() < bucket.members.size()) return;
  const torch::NoGradGuard no_grad;
  kernels::copy_each(bucket.places, bucket.arrived);
  start(bucket);
}

// A sum that cannot be captured is formed between two graphs, whose replay does not come by here.
void DeviceExchange::start(Bucket& bucket) {
  bucket.started = true;
  bucket.arrived.clear();
  bucket.places.clear();
  if (ranks_->is_capturable()) ranks_->start_sum(bucket.gradients);
}

void DeviceExchange::end(const torch::Tensor& loss, const torch::Tensor& error, const torch::Tensor& plain) {
  const torch::NoGradGuard no_grad;
  if (own_items_.count() < batch_) items_.zero_();
  std::vector<torch::Tensor> from{loss, error};
  if (plain.defined()) from.push_back(plain);
  std::vector<torch::Tensor> to;
  for (size_t k = 0; k < from.size(); ++k)
    to.push_back(items_.narrow(0, static_cast<int64_t>(k) * batch_ + own_items_.from, own_items_.count()));
  for (const Bucket& bucket : buckets_) {  // the last ones, and those some of whose parameters have no gradient
    from.insert(from.end(), bucket.arrived.begin(), bucket.arrived.end());
    to.insert(to.end(), bucket.places.begin(), bucket.places.end());
  }
  kernels::copy_each(to, from);
  for (Bucket& bucket : buckets_)
    if (!bucket.started) start(bucket);
}

void DeviceExchange::finish_sums() {
  const torch::NoGradGuard no_grad;
  if (!ranks_->is_capturable())
    for (const Bucket& bucket : buckets_) ranks_->start_sum(bucket.gradients);
  ranks_->finish();
}

std::vector<torch::Tensor> DeviceExchange::gradients() const {
  std::vector<torch::Tensor> gradients(parameters_.size());
  for (size_t k = 0; k < parameters_.size(); ++k)
    if (has_gradient_[k] && own(k).count() > 0) gradients[k] = in(buckets_[places_[k].bucket].gradients, k, own(k));
  return gradients;
}

void DeviceExchange::pack() {
  if (ranks_->size() == 1) return;
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> to, from;
  for (size_t k = 0; k < parameters_.size(); ++k) {
    const Rows rows = own(k);
    to.push_back(in(buckets_[places_[k].bucket].parameters, k, rows));
    from.push_back(in_memory_order(parameters_[k].detach()).narrow(0, rows.from, rows.count()));
  }
  kernels::copy_each(to, from);
}

void DeviceExchange::spread() {
  if (ranks_->size() == 1) return;
  for (const Bucket& bucket : buckets_) ranks_->spread(bucket.parameters);
}

void DeviceExchange::unpack() {
  if (ranks_->size() == 1) return;
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> to, from;
  for (size_t k = 0; k < parameters_.size(); ++k) {
    const Rows mine = own(k);
    for (const Rows& rows : {Rows{0, mine.from}, Rows{mine.to, parameters_[k].numel()}}) {
      if (rows.count() == 0) continue;
      to.push_back(in_memory_order(parameters_[k].detach()).narrow(0, rows.from, rows.count()));
      from.push_back(in(buckets_[places_[k].bucket].parameters, k, rows));
    }
  }
  kernels::copy_each(to, from);
}

std::vector<torch::Tensor> DeviceExchange::whole(const std::vector<torch::Tensor>& parts,
                                                 const std::optional<torch::Device>& where) {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> out(parts.size());
  for (const Bucket& bucket : buckets_) {  // one at a time: no rank needs memory for all of it
    const auto numbers = torch::zeros({bucket.count}, items_.options());
    for (const size_t k : bucket.members)
      if (parts[k].defined()) in(numbers, k, own(k)).copy_(in_memory_order(parts[k]));
    ranks_->spread(numbers);
    if (!where) continue;
    for (const size_t k : bucket.members) {
      const auto& parameter = parameters_[k];
      out[k] = torch::empty_like(parameter.detach(), numbers.options().device(*where));
      in_memory_order(out[k]).copy_(in(numbers, k, {0, parameter.numel()}));
    }
  }
  return out;
}

}  // namespace segre
