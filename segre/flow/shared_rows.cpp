#include "segre/flow/shared_rows.h"

#include <algorithm>

#include "segre/data/dataset.h"

namespace segre {

SharedRows::SharedRows(std::shared_ptr<Ranks> ranks, int64_t count, int64_t block)
    : ranks_(std::move(ranks)), count_(count) {
  const int64_t n_blocks = (count + block - 1) / block;
  const auto cut = [&](int64_t rank) { return std::min(count, n_blocks * rank / ranks_->size() * block); };
  for (int rank = 0; rank < ranks_->size(); ++rank) counts_.push_back(cut(rank + 1) - cut(rank));
  own_ = {cut(ranks_->rank()), cut(ranks_->rank() + 1)};
}

torch::Tensor SharedRows::gather(const torch::Tensor& own) const {
  if (!ranks_->are_many() || count_ == 0) return own;
  auto shape = own.sizes().vec();
  shape[0] = count_;
  // As bytes: ranks exchange numbers of a few types only.
  const auto flat = own.dim() > 1 ? own.flatten(1) : own.unsqueeze(1);
  const auto bytes = flat.contiguous().view(torch::kUInt8).to(torch::kCPU);
  return ranks_->gather(bytes, counts_).view(own.scalar_type()).view(shape);
}

torch::Tensor SharedRows::gather_labels(const Space& space, const torch::Tensor& own) const {
  if (!ranks_->are_many()) return own;
  return gather(own.to(label_type(space, Unknowns::allow))).to(torch::kInt64);
}

}  // namespace segre
