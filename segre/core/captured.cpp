#include "segre/core/captured.h"

#ifdef SEGRE_CUDA
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>

#include <map>
#include <mutex>
#include <thread>

#include "segre/core/device.h"
#include "segre/core/error.h"
#include "segre/core/graph_runner.h"
#endif

namespace segre {

#ifdef SEGRE_CUDA
namespace {

// The caller's stream and the graph's wait for each other around every call, so the caller sees the work in order, as
// if its own stream had done it.
class CapturedFunction {
 public:
  using Tensors = Captured::Tensors;

  explicit CapturedFunction(torch::Device device) : runner_(device) {}

  Tensors run(const Captured::Body& body, const Tensors& inputs) {
    const auto caller = c10::cuda::getCurrentCUDAStream(runner_.stream().device_index());
    const c10::cuda::CUDAStreamGuard guard(runner_.stream());
    wait(runner_.stream(), caller);
    take(inputs);
    if (runner_.captures_next()) outputs_.clear();
    runner_.run([&] { outputs_ = body(inputs_); });
    // Allocated on our stream but used on the caller's: its memory must not be reused before then.
    if (!runner_.is_captured())
      for (const auto& output : outputs_) output.record_stream(caller.unwrap());
    wait(caller, runner_.stream());
    return outputs_;
  }

 private:
  // Everything queued on `first` from now on runs after the work queued on `second` so far.
  static void wait(const c10::cuda::CUDAStream& first, const c10::cuda::CUDAStream& second) {
    at::cuda::CUDAEvent event;
    event.record(second);
    event.block(first);
  }

  // Copies the inputs into the graph's memory.
  void take(const Tensors& inputs) {
    if (inputs_.empty())
      for (const auto& input : inputs) inputs_.push_back(torch::empty_like(input, torch::MemoryFormat::Contiguous));
    if (inputs_.size() != inputs.size()) fail("a captured function was called with ", inputs.size(), " inputs");
    const torch::NoGradGuard no_grad;
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (inputs[k].sizes() != inputs_[k].sizes())
        fail("a captured function was called with an input of a different shape: ", inputs[k].sizes(), " after ",
             inputs_[k].sizes());
      inputs_[k].copy_(inputs[k], /*non_blocking=*/true);
    }
  }

  GraphRunner runner_;
  Tensors inputs_;
  Tensors outputs_;
};

}  // namespace

struct Captured::Contents {
  Body body;
  torch::Device device;
  std::mutex mutex{};                                    // of the map, whose elements stay where they are
  std::map<std::thread::id, CapturedFunction> graphs{};  // on CUDA

  CapturedFunction& of_this_thread() {
    const std::lock_guard lock(mutex);
    return graphs.try_emplace(std::this_thread::get_id(), device).first->second;
  }
};

Captured::Captured(Body body, torch::Device device)
    : contents_(new Contents{.body = std::move(body), .device = numbered(device)}) {}

Captured::Tensors Captured::operator()(const Tensors& inputs) const {
  if (contents_->device.is_cuda()) return contents_->of_this_thread().run(contents_->body, inputs);
  return contents_->body(inputs);
}

#else

struct Captured::Contents {
  Body body;
};

Captured::Captured(Body body, torch::Device /*device*/) : contents_(new Contents{std::move(body)}) {}

Captured::Tensors Captured::operator()(const Tensors& inputs) const { return contents_->body(inputs); }

#endif

Captured::~Captured() = default;

}  // namespace segre
