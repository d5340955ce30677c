#include "segre/flow/row_blocks.h"

#include <algorithm>
#include <bit>

#include "segre/core/deadline.h"

namespace segre {
namespace {

int64_t power_of_two_below(int64_t value) {
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(1, value))));
}

}  // namespace

int64_t rows_per_block(const Flow& flow) {
  const int64_t S = flow.space.n_coordinates();
  if (!flow.options.device().is_cpu()) return std::min<int64_t>(256, power_of_two_below((1 << 22) / S));
  // A quarter of a million numbers, and at most 32 million inside the network, so that a few images keep all threads
  // busy.
  const int64_t rows = std::min<int64_t>(1024, power_of_two_below((1 << 18) / S));
  return std::min(rows, power_of_two_below((1 << 25) / std::max<int64_t>(1, flow.n_activations)));
}

RowBlocks::RowBlocks(Body body, int64_t rows, torch::Device device)
    : body_([body = std::move(body)](const auto& inputs) { return Captured::Tensors{body(inputs)}; }, device),
      rows_(rows),
      fill_up_(!device.is_cpu()) {}

torch::Tensor RowBlocks::operator()(const std::vector<torch::Tensor>& inputs) const {
  const int64_t n_rows = inputs.front().size(0);
  std::vector<torch::Tensor> out;
  for (int64_t first = 0; first < n_rows; first += rows_) {
    check_deadline();
    const int64_t count = std::min(rows_, n_rows - first);
    std::vector<torch::Tensor> part;
    for (const auto& input : inputs) {
      part.push_back(input.narrow(0, first, count));
      if (!fill_up_ || count == rows_) continue;
      const auto last = part.back().narrow(0, count - 1, 1);
      auto sizes = last.sizes().vec();
      sizes[0] = rows_ - count;
      part.back() = torch::cat({part.back(), last.expand(sizes)});
    }
    auto result = body_(part).front();
    // On CUDA the next block overwrites the result.
    out.push_back(fill_up_ ? result.narrow(0, 0, count).clone() : result);
  }
  return out.size() == 1 ? out.front() : torch::cat(out);
}

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
