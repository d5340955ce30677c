#include "segre/core/captured.h"

#ifdef SEGRE_CUDA
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include <optional>

#include "segre/core/error.h"
#endif

namespace segre {

#ifdef SEGRE_CUDA
namespace {

constexpr int64_t kWarmUp = 3;  // calls before the capture: each shape of a convolution is met, its algorithm chosen

// Capturing and replaying on a stream of its own. The caller's stream and ours wait for each other around every call,
// so what the caller sees is ordered as if its own stream had done the work.
class GraphRunner {
 public:
  using Tensors = Captured::Tensors;

  explicit GraphRunner(torch::Device device)
      : stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index())) {}
  // The graph's memory may be given to others only when its last replay is over.
  ~GraphRunner() { C10_CUDA_CHECK_WARN(cudaStreamSynchronize(stream_.stream())); }
  GraphRunner(const GraphRunner&) = delete;
  GraphRunner& operator=(const GraphRunner&) = delete;

  Tensors run(const Captured::Body& body, const Tensors& inputs) {
    const auto caller = c10::cuda::getCurrentCUDAStream(stream_.device_index());
    const c10::cuda::CUDAStreamGuard guard(stream_);
    wait(stream_, caller);
    take(inputs);
    if (n_calls_ == kWarmUp) capture(body);
    if (n_calls_ < kWarmUp) {
      outputs_ = body(inputs_);
      // Made on our stream and used on the caller's: its memory must not come back to us before.
      for (const auto& output : outputs_) output.record_stream(caller.unwrap());
    } else {
      graph_.replay();
    }
    ++n_calls_;
    wait(caller, stream_);
    return outputs_;
  }

 private:
  // `second`'s work so far comes before whatever `first` is given from now on.
  static void wait(const c10::cuda::CUDAStream& first, const c10::cuda::CUDAStream& second) {
    at::cuda::CUDAEvent event;
    event.record(second);
    event.block(first);
  }

  // Copies the inputs to where the graph reads them.
  void take(const Tensors& inputs) {
    if (inputs_.empty())
      for (const auto& input : inputs) inputs_.push_back(torch::empty_like(input, torch::MemoryFormat::Contiguous));
    if (inputs_.size() != inputs.size()) fail("a captured function was called with ", inputs.size(), " inputs");
    const torch::NoGradGuard no_grad;
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (inputs[k].sizes() != inputs_[k].sizes())
        fail("a captured function was called with an input of another shape: ", inputs[k].sizes(), " after ",
             inputs_[k].sizes());
      inputs_[k].copy_(inputs[k], /*non_blocking=*/true);
    }
  }

  void capture(const Captured::Body& body) {
    outputs_.clear();
    stream_.synchronize();
    graph_.capture_begin();
    outputs_ = body(inputs_);
    graph_.capture_end();
  }

  c10::cuda::CUDAStream stream_;
  at::cuda::CUDAGraph graph_;
  Tensors inputs_;
  Tensors outputs_;
  int64_t n_calls_ = 0;
};

}  // namespace

struct Captured::Contents {
  Body body;
  std::optional<GraphRunner> graph{};  // on CUDA
};

Captured::Captured(Body body, torch::Device device) : contents_(new Contents{.body = std::move(body)}) {
  if (device.is_cuda()) contents_->graph.emplace(device);
}

Captured::Tensors Captured::operator()(const Tensors& inputs) const {
  if (contents_->graph) return contents_->graph->run(contents_->body, inputs);
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
