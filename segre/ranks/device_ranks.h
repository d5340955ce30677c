#pragma once  // internal

#include <memory>
#include <string>

#include "segre/core/torch.h"

namespace segre {

class Ranks;

/// What ranks do together with tensors on their devices. All of them make the same calls. Part k of a tensor [size * m]
/// is the numbers k * m ... (k + 1) * m - 1.
class DeviceRanks {
 public:
  virtual ~DeviceRanks() = default;
  /// "NCCL", or "Gloo" through the host's memory.
  virtual std::string name() const = 0;
  /// Whether the calls may be part of a CUDA graph; otherwise they wait for the device.
  virtual bool is_capturable() const = 0;
  /// The number of this rank, from 0.
  int rank() const { return rank_; }
  /// The number of ranks.
  int size() const { return size_; }

  /// Starts to add up x [size * m] over all ranks, after what the current stream has been given so far and beside what
  /// comes next. After finish(), rank k has the sum in part k; the rest is scratch.
  virtual void start_sum(const torch::Tensor& x) = 0;
  /// Lets the current stream wait for all sums that were started.
  virtual void finish() = 0;
  /// Adds up x over all ranks, in place.
  virtual void sum(const torch::Tensor& x) = 0;
  /// Gives part k of rank k's x [size * m] to everyone, in place.
  virtual void spread(const torch::Tensor& x) = 0;

  /// This rank's part of x [size * m]: [m].
  torch::Tensor own(const torch::Tensor& x) const {
    const int64_t m = x.size(0) / size_;
    return x.narrow(0, rank_ * m, m);
  }

 protected:
  DeviceRanks(int rank, int size) : rank_(rank), size_(size) {}

 private:
  int rank_;
  int size_;
};

/// By way of the host's memory: for ranks that share a GPU, which NCCL refuses, and builds without NCCL. `ranks` must
/// outlive it.
std::unique_ptr<DeviceRanks> make_host_ranks(Ranks& ranks);

}  // namespace segre
