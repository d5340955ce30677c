// Gloo's code is inside libtorch_cpu; its headers are not in the wheel, so those of the distribution declare it.
// CMake tests at configure time that the two fit (SEGRE_GLOO).
#include "segre/core/error.h"
#include "segre/ranks/join.h"

#ifdef SEGRE_GLOO
#define USE_C10D_GLOO
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "segre/ranks/meeting.h"
#include "segre/ranks/nccl_ranks.h"
#endif

namespace segre {

#ifdef SEGRE_GLOO
namespace {

// A rank that is alive may be busy with work that only it does: choosing a network, drawing a picture.
constexpr std::chrono::hours kPatience{2};

class GlooRanks : public Ranks {
 public:
  explicit GlooRanks(const Launch& launch)
      : Ranks(launch.rank, launch.size), meeting_(Meeting::meet(launch)), group_(connect()) {}

  void sum(const torch::Tensor& x) override {
    std::vector<torch::Tensor> tensors{x};
    wait([&] { return group_->allreduce(tensors); });
  }
  void broadcast(const torch::Tensor& x) override {
    std::vector<torch::Tensor> tensors{x};
    wait([&] { return group_->broadcast(tensors); });
  }
  void swap(const torch::Tensor& mine, const torch::Tensor& theirs, int partner) override {
    const int tag = static_cast<int>(n_swaps_++ % 1024);
    std::vector<torch::Tensor> out{mine};
    std::vector<torch::Tensor> in{theirs};
    explained([&] {
      const auto sent = group_->send(out, partner, tag);
      const auto received = group_->recv(in, partner, tag);
      sent->wait();
      received->wait();
    });
  }
  void barrier() override {
    wait([&] { return group_->barrier(); });
  }
  bool exchanges() const override { return true; }
  std::unique_ptr<DeviceRanks> on(torch::Device device) override {
    const bool own = each_has_its_own(device);
    if (!own || !has_nccl()) return Ranks::on(device);
    return make_nccl_ranks(meeting_->store(), rank(), size(), device);
  }
  void leave() override {
    barrier();
    explained([&] { meeting_->leave(); });
  }

 protected:
  torch::Tensor gather_equal(const torch::Tensor& part) override {
    std::vector<torch::Tensor> input{part};
    std::vector<std::vector<torch::Tensor>> outputs(1);
    auto shape = part.sizes().vec();
    shape.insert(shape.begin(), size());
    const auto all = torch::empty(shape, part.options());
    for (int k = 0; k < size(); ++k) outputs[0].push_back(all[k]);
    wait([&] { return group_->allgather(outputs, input); });
    return all;
  }

 private:
  c10::intrusive_ptr<c10d::ProcessGroupGloo> connect() {
    c10::intrusive_ptr<c10d::ProcessGroupGloo> group;
    explained([&] {
      auto options = c10d::ProcessGroupGloo::Options::create(kPatience);
      options->devices.push_back(c10d::ProcessGroupGloo::createDefaultDevice());
      group = c10::make_intrusive<c10d::ProcessGroupGloo>(
          c10::make_intrusive<c10d::PrefixStore>("gloo", meeting_->store()), rank(), size(), options);
    });
    return group;
  }

  // Whether no two ranks of a machine use the same GPU, which NCCL refuses.
  bool each_has_its_own(torch::Device device) {
    const auto place = std::hash<std::string>()(concat(host_name(), " ", device.str()));
    const auto places = gather(torch::full({1}, static_cast<int64_t>(place), torch::kInt64));
    return std::get<0>(at::_unique(places)).numel() == size();
  }

  template <class Work>
  void explained(Work&& work) {
    std::string trouble;
    try {
      work();
      return;
    } catch (const std::exception& error) {
      trouble = error.what();
    }
    meeting_->explain(trouble);
  }
  template <class Start>
  void wait(Start&& start) {
    explained([&] { start()->wait(); });
  }

  std::shared_ptr<Meeting> meeting_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
  int64_t n_swaps_ = 0;
};

}  // namespace

bool has_gloo() { return true; }

std::shared_ptr<Ranks> join_ranks(const std::optional<Launch>& launch) {
  if (!launch || (launch->size == 1 && !environment("SEGRE_JOIN_ALONE"))) return one_rank();
  return std::make_shared<GlooRanks>(*launch);
}

#else

bool has_gloo() { return false; }

std::shared_ptr<Ranks> join_ranks(const std::optional<Launch>& launch) {
  if (!launch || launch->size == 1) return one_rank();
  fail_input(launch->launcher, " started ", launch->size,
             " ranks, but this build of segre works alone: Gloo's headers were missing or did not fit LibTorch when it "
             "was configured (Debian: libgloo-dev)");
}

#endif

}  // namespace segre
