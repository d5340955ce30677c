#include "segre/ranks/ranks.h"

#include <algorithm>

#include "segre/ranks/device_ranks.h"

namespace segre {
namespace {

class OneRank : public Ranks {
 public:
  OneRank() : Ranks(0, 1) {}
  void sum(const torch::Tensor& /*x*/) override {}
  void broadcast(const torch::Tensor& /*x*/) override {}
  void swap(const torch::Tensor& mine, const torch::Tensor& theirs, int /*partner*/) override { theirs.copy_(mine); }
  void barrier() override {}

 protected:
  torch::Tensor gather_equal(const torch::Tensor& part) override { return part.unsqueeze(0); }
};

}  // namespace

std::shared_ptr<Ranks> one_rank() { return std::make_shared<OneRank>(); }

std::unique_ptr<DeviceRanks> Ranks::on(torch::Device /*device*/) { return make_host_ranks(*this); }

Rows Ranks::share_of(int64_t count) const { return {count * rank_ / size_, count * (rank_ + 1) / size_}; }

torch::Tensor Ranks::gather(const torch::Tensor& part, const std::vector<int64_t>& counts) {
  if (!are_many()) return part;
  const int64_t most = *std::max_element(counts.begin(), counts.end());
  auto shape = part.sizes().vec();
  shape[0] = most;
  auto padded = part;
  if (part.size(0) < most) {
    padded = torch::zeros(shape, part.options());
    padded.narrow(0, 0, part.size(0)).copy_(part);
  }
  const auto all = gather_equal(padded.contiguous());
  std::vector<torch::Tensor> parts;
  for (int k = 0; k < size_; ++k) parts.push_back(all[k].narrow(0, 0, counts[k]));
  return torch::cat(parts);
}

torch::Tensor Ranks::gather(const torch::Tensor& part) {
  if (!are_many()) return part;
  const auto counts = gather_equal(torch::full({1}, part.size(0), torch::kInt64)).contiguous();
  const auto* first = counts.const_data_ptr<int64_t>();
  return gather(part, {first, first + size_});
}

std::string broadcast_text(Ranks& ranks, const std::string& text) {
  if (!ranks.are_many()) return text;
  const auto length = torch::full({1}, static_cast<int64_t>(text.size()), torch::kInt64);
  ranks.broadcast(length);
  const auto bytes = torch::empty({length.item<int64_t>()}, torch::kUInt8);
  if (ranks.is_first()) std::copy(text.begin(), text.end(), bytes.data_ptr<uint8_t>());
  if (bytes.numel() > 0) ranks.broadcast(bytes);
  return {bytes.data_ptr<uint8_t>(), bytes.data_ptr<uint8_t>() + bytes.numel()};
}

std::string on_first(Ranks& ranks, const std::function<std::string()>& work) {
  return broadcast_text(ranks, ranks.is_first() ? work() : std::string());
}

}  // namespace segre
