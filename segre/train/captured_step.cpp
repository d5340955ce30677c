#include "segre/train/captured_step.h"

#include "segre/core/error.h"

#ifdef SEGRE_CUDA
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#endif

namespace segre {

#ifdef SEGRE_CUDA
namespace {

constexpr int64_t kAhead = 8;   // steps the host may be ahead
constexpr int64_t kWarmUp = 3;  // steps before the capture: each shape of a convolution is met, its algorithm chosen

// Applies fn to each pair of tensors that is there.
template <class Fn>
void for_each_input(const StepInputs& a, StepInputs& b, Fn&& fn) {
  for (const auto member :
       {&StepInputs::rows, &StepInputs::labels, &StepInputs::u, &StepInputs::counters, &StepInputs::numbers})
    if ((a.*member).defined()) fn(a.*member, b.*member);
}

}  // namespace

struct CapturedStep::Contents {
  Body body;
  c10::cuda::CUDAStream stream;
  StepInputs inputs;                 // on the device; the graph reads them
  StepInputs pinned[kAhead];         // on their way there
  at::cuda::CUDAEvent sent[kAhead];  // when each may be written again
  at::cuda::CUDAGraph graph;
  int64_t n_steps = 0;

  void send(const StepInputs& host) {
    const auto slot = n_steps % kAhead;
    if (n_steps >= kAhead) sent[slot].synchronize();
    for_each_input(host, pinned[slot], [](const torch::Tensor& from, torch::Tensor& to) {
      if (!to.defined()) to = torch::empty_like(from, from.options().pinned_memory(true));
      to.copy_(from);
    });
    for_each_input(pinned[slot], inputs, [&](const torch::Tensor& from, torch::Tensor& to) {
      if (!to.defined()) to = torch::empty_like(from, from.options().device(stream.device()).pinned_memory(false));
      to.copy_(from, /*non_blocking=*/true);
    });
    sent[slot].record(stream);
  }

  void capture() {
    stream.synchronize();
    graph.capture_begin();
    body(inputs);
    graph.capture_end();
  }
};

CapturedStep::CapturedStep(Body body, torch::Device device)
    : contents_(new Contents{.body = std::move(body),
                             .stream = c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device.index()),
                             .inputs = {},
                             .pinned = {},
                             .sent = {},
                             .graph = {}}) {
  at::globalContext().setBenchmarkCuDNN(true);
  c10::cuda::device_synchronize();  // parameters were made on another stream
}

CapturedStep::~CapturedStep() = default;

void CapturedStep::operator()(const StepInputs& host) {
  Contents& c = *contents_;
  const c10::cuda::CUDAStreamGuard guard(c.stream);
  c.send(host);
  if (c.n_steps == kWarmUp) c.capture();
  if (c.n_steps < kWarmUp) {
    c.body(c.inputs);
  } else {
    c.graph.replay();
  }
  ++c.n_steps;
}

void CapturedStep::synchronize() { c10::cuda::device_synchronize(); }

#else

struct CapturedStep::Contents {};
// NOLINTNEXTLINE(performance-unnecessary-value-param): the signature of the build with CUDA
CapturedStep::CapturedStep(Body /*body*/, torch::Device /*device*/) { fail("this build of segre has no CUDA"); }
CapturedStep::~CapturedStep() = default;
void CapturedStep::operator()(const StepInputs& /*host*/) {}
void CapturedStep::synchronize() {}

#endif

}  // namespace segre
