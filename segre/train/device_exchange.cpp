#include "segre/train/device_exchange.h"

#include <ATen/ops/_foreach_copy.h>

namespace segre {
namespace {

constexpr int64_t kBucketBytes = int64_t{25} << 20;  // large enough for bandwidth, small enough to start early

}  // namespace

DeviceExchange::DeviceExchange(std::vector<torch::Tensor> parameters, int64_t batch, Rows own,
                               std::unique_ptr<DeviceSum> sum, torch::ScalarType type)
    : parameters_(std::move(parameters)),
      own_(own),
      sum_(std::move(sum)),
      items_(torch::zeros({3, batch}, torch::TensorOptions(parameters_.front().device()).dtype(torch::kFloat32))),
      bucket_of_(parameters_.size()),
      gradients_(parameters_.size()),
      has_gradient_(parameters_.size(), false) {
  const auto options = torch::TensorOptions(parameters_.front().device()).dtype(type);
  const auto most = kBucketBytes / static_cast<int64_t>(c10::elementSize(type));
  // The backward pass arrives at the last parameters first.
  for (size_t end = parameters_.size(); end > 0;) {
    size_t begin = end;
    int64_t count = 0;
    while (begin > 0 && (count == 0 || count + parameters_[begin - 1].numel() <= most))
      count += parameters_[--begin].numel();
    Bucket bucket{torch::zeros({count}, options), static_cast<int64_t>(end - begin)};
    int64_t offset = 0;
    for (size_t k = begin; k < end; ++k) {
      bucket_of_[k] = buckets_.size();
      gradients_[k] = bucket.numbers.narrow(0, offset, parameters_[k].numel())
                          .as_strided(parameters_[k].sizes(), parameters_[k].strides());
      offset += parameters_[k].numel();
    }
    buckets_.push_back(std::move(bucket));
    end = begin;
  }
  for (size_t k = 0; k < parameters_.size(); ++k)
    hooks_.push_back(parameters_[k].register_hook([this, k](const torch::Tensor& gradient) { arrived(k, gradient); }));
}

DeviceExchange::~DeviceExchange() {
  for (size_t k = 0; k < parameters_.size(); ++k) parameters_[k].remove_hook(hooks_[k]);
}

void DeviceExchange::begin() {
  for (Bucket& bucket : buckets_) bucket.started = false;
}

void DeviceExchange::arrived(size_t k, const torch::Tensor& gradient) {
  has_gradient_[k] = true;
  Bucket& bucket = buckets_[bucket_of_[k]];
  bucket.arrived.push_back(gradient.detach());
  bucket.places.push_back(gradients_[k]);
  if (static_cast<int64_t>(bucket.arrived.size()) == bucket.n_parameters) start(bucket_of_[k]);
}

// A sum that cannot be captured is formed between two graphs, whose replay does not come by here.
void DeviceExchange::start(size_t k) {
  const torch::NoGradGuard no_grad;
  Bucket& bucket = buckets_[k];
  bucket.started = true;
  if (!bucket.arrived.empty()) at::_foreach_copy_(bucket.places, bucket.arrived);
  bucket.arrived.clear();
  bucket.places.clear();
  if (sum_->is_capturable()) sum_->start(bucket.numbers);
}

void DeviceExchange::end(const torch::Tensor& loss, const torch::Tensor& error, const torch::Tensor& plain) {
  const torch::NoGradGuard no_grad;
  for (size_t k = 0; k < buckets_.size(); ++k)
    if (!buckets_[k].started) start(k);  // some of its parameters have no gradient
  if (own_.count() < items_.size(1)) items_.zero_();
  std::vector<torch::Tensor> rows{loss, error};
  if (plain.defined()) rows.push_back(plain.to(items_.dtype()));
  items_.narrow(0, 0, static_cast<int64_t>(rows.size())).narrow(1, own_.from, own_.count()).copy_(torch::stack(rows));
  if (sum_->is_capturable()) sum_->start(items_);
}

void DeviceExchange::finish() {
  const torch::NoGradGuard no_grad;
  if (!sum_->is_capturable()) {
    for (const Bucket& bucket : buckets_) sum_->start(bucket.numbers);
    sum_->start(items_);
  }
  sum_->finish();
}

std::vector<torch::Tensor> DeviceExchange::gradients() const {
  auto gradients = gradients_;
  for (size_t k = 0; k < gradients.size(); ++k)
    if (!has_gradient_[k]) gradients[k] = torch::Tensor();
  return gradients;
}

}  // namespace segre
