// ProcessGroupNCCL is in libtorch_cuda; nccl.h is in the wheel nvidia-nccl (SEGRE_NCCL if CMake found it).
#include "segre/ranks/nccl_sum.h"

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

class NcclSum final : public DeviceSum {
 public:
  NcclSum(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size, torch::Device device)
      : guard_(device),
        group_(c10::make_intrusive<c10d::ProcessGroupNCCL>(c10::make_intrusive<c10d::PrefixStore>("nccl", store), rank,
                                                           size)) {}
  ~NcclSum() override { group_->abort(); }
  NcclSum(const NcclSum&) = delete;
  NcclSum& operator=(const NcclSum&) = delete;

  std::string name() const override { return "NCCL"; }
  bool is_capturable() const override { return true; }
  void start(const torch::Tensor& x) override {
    std::vector<torch::Tensor> tensors{x};
    works_.push_back(group_->allreduce(tensors));
  }
  void finish() override {
    for (const auto& work : works_) work->wait();  // lets the current stream wait, not the host
    works_.clear();
  }

 private:
  c10::cuda::CUDAGuard guard_;  // NCCL's communicators are made for the current device
  c10::intrusive_ptr<c10d::ProcessGroupNCCL> group_;
  std::vector<c10::intrusive_ptr<c10d::Work>> works_;
};

}  // namespace

bool has_nccl() { return true; }

std::unique_ptr<DeviceSum> make_nccl_sum(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                         torch::Device device) {
  return std::make_unique<NcclSum>(store, rank, size, device);
}

#else

bool has_nccl() { return false; }

std::unique_ptr<DeviceSum> make_nccl_sum(const c10::intrusive_ptr<c10d::Store>& /*store*/, int /*rank*/, int /*size*/,
                                         torch::Device /*device*/) {
  fail("this build of segre has no NCCL: nccl.h was not found when it was configured");
}

#endif

}  // namespace segre
