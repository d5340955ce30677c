#include "segre/ranks/device_ranks.h"

#include "segre/ranks/ranks.h"

namespace segre {
namespace {

class HostRanks final : public DeviceRanks {
 public:
  explicit HostRanks(Ranks& ranks) : DeviceRanks(ranks.rank(), ranks.size()), ranks_(ranks) {}

  std::string name() const override { return "Gloo"; }
  bool is_capturable() const override { return false; }
  void start_sum(const torch::Tensor& x) override { started_.push_back(x); }
  void finish() override {
    for (const auto& x : started_) sum(x);
    started_.clear();
  }
  void sum(const torch::Tensor& x) override {
    const auto on_host = torch::empty(x.sizes(), torch::kFloat32).copy_(x);
    ranks_.sum(on_host);
    x.copy_(on_host);
  }
  void spread(const torch::Tensor& x) override {
    const auto bytes = own(x).view(torch::kUInt8);  // of any type
    x.view(torch::kUInt8).copy_(ranks_.gather(bytes.to(torch::kCPU)));
  }

 private:
  Ranks& ranks_;
  std::vector<torch::Tensor> started_;
};

}  // namespace

std::unique_ptr<DeviceRanks> make_host_ranks(Ranks& ranks) { return std::make_unique<HostRanks>(ranks); }

}  // namespace segre
