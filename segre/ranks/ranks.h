#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "segre/core/torch.h"
#include "segre/ranks/device_ranks.h"

namespace segre {

/// Rows from ... to - 1 of some work.
struct Rows {
  int64_t from;
  int64_t to;

  int64_t count() const { return to - from; }
};

/// The processes that do one job together, seen from one of them. Tensors are on the CPU. All ranks must make the same
/// calls in the same order, so one thread of each may make them; a single rank may be shared by threads. An Error names
/// the rank that failed first, wherever it happened.
class Ranks {
 public:
  virtual ~Ranks() = default;

  /// The number of this rank, from 0.
  int rank() const { return rank_; }
  /// The number of ranks.
  int size() const { return size_; }
  /// Whether this is rank 0, the one that writes files and talks to the user.
  bool is_first() const { return rank_ == 0; }
  /// Whether there are others.
  bool are_many() const { return size_ > 1; }
  /// This rank's share of `count` things: consecutive, and as many as every other rank's or one more.
  Rows share_of(int64_t count) const;

  /// Adds up x over all ranks, in place.
  virtual void sum(const torch::Tensor& x) = 0;
  /// The parts of all ranks one after another: [sum of counts, ...]; part [counts[rank], ...].
  torch::Tensor gather(const torch::Tensor& part, const std::vector<int64_t>& counts);
  /// The same for parts that are the ranks' shares of something, in whatever numbers.
  torch::Tensor gather(const torch::Tensor& part);
  /// Rank 0's x for everyone, in place.
  virtual void broadcast(const torch::Tensor& x) = 0;
  /// Gives `mine` to another rank and receives `theirs` from it. Both have the same type; sizes may differ.
  virtual void swap(const torch::Tensor& mine, const torch::Tensor& theirs, int partner) = 0;
  /// Waits for everyone.
  virtual void barrier() = 0;
  /// The end of the job: waits for everyone, after which a rank that is gone is not missed.
  virtual void leave() {}

  /// Whether gradients go through an exchange: with others, or, to measure what it costs, alone (SEGRE_JOIN_ALONE=1).
  virtual bool exchanges() const { return are_many(); }
  /// The same ranks with tensors on `device`: by NCCL if each has a GPU of its own, else by way of the host. All ranks
  /// call it; this object must outlive the result.
  virtual std::unique_ptr<DeviceRanks> on(torch::Device device);

 protected:
  Ranks(int rank, int size) : rank_(rank), size_(size) {}
  /// [size, ...] from parts of equal shapes.
  virtual torch::Tensor gather_equal(const torch::Tensor& part) = 0;

 private:
  int rank_;
  int size_;
};

/// A program alone.
std::shared_ptr<Ranks> one_rank();

/// Rank 0's text for everyone.
std::string broadcast_text(Ranks& ranks, const std::string& text);

/// Does `work` on rank 0 alone and returns its text to everyone.
std::string on_first(Ranks& ranks, const std::function<std::string()>& work);

}  // namespace segre
