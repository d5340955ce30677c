#pragma once  // internal

#include "segre/ranks/ranks.h"
#include "segre/space/space.h"

namespace segre {

/// How ranks share consecutive rows of some work: each does a few whole blocks of them, in order. A row is computed
/// within the same block, hence to the same bits, for any number of ranks; a rank may have none.
class SharedRows {
 public:
  /// Rows 0 ... count - 1 in blocks of `block`, the last of which may be shorter.
  SharedRows(std::shared_ptr<Ranks> ranks, int64_t count, int64_t block = 1);

  /// All rows.
  int64_t count() const { return count_; }
  /// Those of this rank.
  const Rows& own() const { return own_; }
  /// What all ranks found, for every rank: [own().count(), ...] on the CPU, of any type -> [count, ...].
  torch::Tensor gather(const torch::Tensor& own) const;
  /// The same for labels of a space, [own().count(), ...] int64, which travel in few bytes; they may be kUnknown.
  torch::Tensor gather_labels(const Space& space, const torch::Tensor& own) const;

 private:
  std::shared_ptr<Ranks> ranks_;
  int64_t count_;
  std::vector<int64_t> counts_;  // of each rank
  Rows own_{};
};

}  // namespace segre
