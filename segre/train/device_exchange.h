#pragma once  // internal

#include "segre/ranks/device_sum.h"
#include "segre/ranks/ranks.h"

namespace segre {

/// What ranks exchange in a training step on CUDA devices: gradients, in few buffers that are added up while the
/// backward pass still computes others, and what is known about each item. Always in the same memory, so that it can be
/// part of a captured step.
class DeviceExchange {
 public:
  /// The trained `parameters`; items `own` of `batch` are this rank's; gradients travel as `type`.
  DeviceExchange(std::vector<torch::Tensor> parameters, int64_t batch, Rows own, std::unique_ptr<DeviceSum> sum,
                 torch::ScalarType type);
  /// Stops listening to the parameters' gradients.
  ~DeviceExchange();
  DeviceExchange(const DeviceExchange&) = delete;
  DeviceExchange& operator=(const DeviceExchange&) = delete;

  const DeviceSum& sum() const { return *sum_; }
  /// Before a backward pass, whose gradients are then taken as they come.
  void begin();
  /// After it: the own items' losses, errors and whether they are plain (undefined: all), [K] each.
  void end(const torch::Tensor& loss, const torch::Tensor& error, const torch::Tensor& plain);
  /// Waits for the sums; from then on the following are of the whole batch.
  void finish();

  torch::Tensor loss() const { return items_[0]; }
  torch::Tensor error() const { return items_[1]; }
  torch::Tensor plain() const { return items_[2] > 0.5; }
  /// In the order of the parameters, with their strides; undefined for those without one.
  std::vector<torch::Tensor> gradients() const;

 private:
  void arrived(size_t k, const torch::Tensor& gradient);
  void start(size_t bucket);

  // Gradients that travel together, copied into one tensor once all are there.
  struct Bucket {
    torch::Tensor numbers;
    int64_t n_parameters = 0;
    bool started = false;
    std::vector<torch::Tensor> arrived{};  // gradients of this step
    std::vector<torch::Tensor> places{};   // where they go
  };
  std::vector<torch::Tensor> parameters_;
  Rows own_;
  std::unique_ptr<DeviceSum> sum_;
  torch::Tensor items_;  // [3, B] float32: loss, error, plain
  std::vector<Bucket> buckets_;
  std::vector<size_t> bucket_of_;         // parameter -> bucket
  std::vector<torch::Tensor> gradients_;  // parameter -> its part of the bucket, in the parameter's layout
  std::vector<bool> has_gradient_;
  std::vector<unsigned> hooks_;
};

}  // namespace segre
