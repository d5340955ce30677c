#pragma once  // internal

#include "segre/ranks/device_ranks.h"
#include "segre/ranks/ranks.h"
#include "segre/train/state_shares.h"

namespace segre {

/// What ranks exchange in a training step on CUDA devices. Gradients are added up in few buffers, while the backward
/// pass still computes others, each part of a buffer on the rank that keeps the optimiser's state for it; that rank
/// updates its part of the parameters and gives it to the others. Always in the same memory, so that it can be part of
/// a captured step. The calls of a step, in this order:
///
///   begin, [backward pass], end, finish_sums, [norm of gradients()], sum_items, [update], pack, spread, unpack
class DeviceExchange final : public StateShares {
 public:
  /// The trained `parameters`; items `own` of `batch` are this rank's; gradients travel as `type`.
  DeviceExchange(std::vector<torch::Tensor> parameters, int64_t batch, Rows own, std::unique_ptr<DeviceRanks> ranks,
                 torch::ScalarType type);
  /// Stops listening to the parameters' gradients.
  ~DeviceExchange() override;
  DeviceExchange(const DeviceExchange&) = delete;
  DeviceExchange& operator=(const DeviceExchange&) = delete;

  const DeviceRanks& ranks() const { return *ranks_; }

  /// Before a backward pass, whose gradients are then taken as they come.
  void begin();
  /// After it: losses, errors and whether items are plain (undefined: all), [K] each, of this rank's items.
  void end(const torch::Tensor& loss, const torch::Tensor& error, const torch::Tensor& plain);
  /// Waits for the sums of the gradients. Not captured unless the ranks' calls are.
  void finish_sums();
  /// The sums of this rank's numbers of each parameter, [own(k).count()]; undefined for none, or without gradient.
  std::vector<torch::Tensor> gradients() const;
  /// Where the squared norm of gradients() goes, [1].
  torch::Tensor squared_norm() const { return items_.narrow(0, 3 * batch_, 1); }
  /// Adds up what is known about items, and the squared norm: all are of the whole batch from now on. Not captured
  /// unless the ranks' calls are.
  void sum_items() { ranks_->sum(items_); }
  /// After the update of this rank's numbers: puts them where spread() takes them from.
  void pack();
  /// Gives everyone's numbers to everyone. Not captured unless the ranks' calls are.
  void spread();
  /// Takes the others' numbers into the parameters.
  void unpack();

  torch::Tensor loss() const { return items_.narrow(0, 0, batch_); }
  torch::Tensor error() const { return items_.narrow(0, batch_, batch_); }
  torch::Tensor plain() const { return items_.narrow(0, 2 * batch_, batch_) > 0.5; }

  bool is_first() const override { return ranks_->rank() == 0; }
  bool keeps_all_weights() const override { return false; }
  Rows own(size_t k) const override;
  std::vector<torch::Tensor> whole(const std::vector<torch::Tensor>& parts,
                                   const std::optional<torch::Device>& where) override;

 private:
  // Parameters of one type whose numbers travel together, in the same memory on both ways.
  struct Bucket {
    bool is_last = false;           // of its type to fill, at the end of the backward pass; kept small
    std::vector<size_t> members{};  // parameters
    int64_t count = 0;              // numbers, with gaps between parameters
    torch::Tensor gradients{};      // [count]
    torch::Tensor parameters{};     // [count]
    bool started = false;
    std::vector<torch::Tensor> arrived{};  // gradients of this step
    std::vector<torch::Tensor> places{};   // where they go
  };
  struct Place {
    size_t bucket;
    int64_t offset;
  };
  void divide(torch::ScalarType type);
  void allocate(torch::ScalarType type);
  void arrived(size_t k, const torch::Tensor& gradient);
  void start(Bucket& bucket);
  torch::Tensor in(const torch::Tensor& numbers, size_t k, const Rows& rows) const;

  std::vector<torch::Tensor> parameters_;
  int64_t batch_;
  Rows own_items_;
  std::unique_ptr<DeviceRanks> ranks_;
  torch::Tensor items_;  // [3 B + 1] float32: losses, errors, plain or not; the squared norm
  std::vector<Bucket> buckets_;
  std::vector<Place> places_;  // of each parameter
  std::vector<bool> has_gradient_;
  std::vector<unsigned> hooks_;
};

}  // namespace segre
