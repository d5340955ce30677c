// ProcessGroupNCCL is in libtorch_cuda; nccl.h is in the wheel nvidia-nccl (SEGRE_NCCL if CMake found it).
#include "segre/ranks/nccl_ranks.h"

#include "segre/core/error.h"

#ifdef SEGRE_NCCL
#define USE_C10D_NCCL
#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

namespace segre {

#ifdef SEGRE_NCCL
namespace {

// All calls work in place: NCCL needs no other memory if a rank's part lies where it belongs.
class NcclRanks final : public DeviceRanks {
 public:
  NcclRanks(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size, torch::Device device)
      : DeviceRanks(rank, size),
        guard_(device),
        group_(c10::make_intrusive<c10d::ProcessGroupNCCL>(c10::make_intrusive<c10d::PrefixStore>("nccl", store), rank,
                                                           size)) {}
  ~NcclRanks() override { group_->abort(); }
  NcclRanks(const NcclRanks&) = delete;
  NcclRanks& operator=(const NcclRanks&) = delete;

  std::string name() const override { return "NCCL"; }
  bool is_capturable() const override { return true; }
  void start_sum(const torch::Tensor& x) override {
    auto all = x;
    auto part = own(x);
    works_.push_back(group_->_reduce_scatter_base(part, all));
  }
  void finish() override {
    for (const auto& work : works_) wait(work);
    works_.clear();
  }
  // Nothing else is to be done meanwhile, so these two are on the current stream.
  void sum(const torch::Tensor& x) override {
    std::vector<torch::Tensor> tensors{x};
    c10d::AllreduceOptions options;
    options.asyncOp = false;
    wait(group_->allreduce(tensors, options));
  }
  void spread(const torch::Tensor& x) override {
    auto all = x;
    auto part = own(x);
    c10d::AllgatherOptions options;
    options.asyncOp = false;
    wait(group_->_allgather_base(all, part, options));
  }

 private:
  // Lets the current stream wait, not the host. There may be nothing to wait for.
  static void wait(const c10::intrusive_ptr<c10d::Work>& work) {
    if (work) work->wait();
  }

  c10::cuda::CUDAGuard guard_;  // NCCL's communicators are made for the current device
  c10::intrusive_ptr<c10d::ProcessGroupNCCL> group_;
  std::vector<c10::intrusive_ptr<c10d::Work>> works_;
};

}  // namespace

bool has_nccl() { return true; }

std::unique_ptr<DeviceRanks> make_nccl_ranks(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                             torch::Device device) {
  return std::make_unique<NcclRanks>(store, rank, size, device);
}

#else

bool has_nccl() { return false; }

std::unique_ptr<DeviceRanks> make_nccl_ranks(const c10::intrusive_ptr<c10d::Store>& /*store*/, int /*rank*/,
                                             int /*size*/, torch::Device /*device*/) {
  fail("this build of segre has no NCCL: nccl.h was not found when it was configured");
}

#endif

}  // namespace segre
