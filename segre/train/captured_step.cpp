#include "segre/train/captured_step.h"

#include "segre/core/error.h"

#ifdef SEGRE_CUDA
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>

#include <optional>

#include "segre/core/graph_runner.h"
#endif

namespace segre {

#ifdef SEGRE_CUDA
namespace {

constexpr int64_t kAhead = 8;  // maximum number of steps the host may be ahead

// While alive, cuDNN benchmarks algorithms for each convolution. A process-wide setting, so it is restored once the
// step is captured.
class CudnnMeasures {
 public:
  CudnnMeasures() : before_(at::globalContext().benchmarkCuDNN()) { at::globalContext().setBenchmarkCuDNN(true); }
  ~CudnnMeasures() { at::globalContext().setBenchmarkCuDNN(before_); }
  CudnnMeasures(const CudnnMeasures&) = delete;
  CudnnMeasures& operator=(const CudnnMeasures&) = delete;

 private:
  bool before_;
};

// Applies fn to each pair of defined tensors.
template <class Fn>
void for_each_input(const StepInputs& a, StepInputs& b, Fn&& fn) {
  for (const auto member : {&StepInputs::rows, &StepInputs::labels, &StepInputs::u, &StepInputs::evidence,
                            &StepInputs::counters, &StepInputs::numbers})
    if ((a.*member).defined()) fn(a.*member, b.*member);
}

}  // namespace

struct CapturedStep::Contents {
  Body body;
  GraphRunner runner;
  StepInputs inputs{};                 // on the device; the graph reads them
  StepInputs pinned[kAhead]{};         // on their way there
  at::cuda::CUDAEvent sent[kAhead]{};  // when each may be overwritten
  int64_t n_steps = 0;

  Contents(Body step, torch::Device device) : body(std::move(step)), runner(device, GraphRunner::Priority::high) {}

  void send(const StepInputs& host) {
    const auto slot = n_steps % kAhead;
    if (n_steps >= kAhead) sent[slot].synchronize();
    for_each_input(host, pinned[slot], [](const torch::Tensor& from, torch::Tensor& to) {
      if (!to.defined()) to = torch::empty_like(from, from.options().pinned_memory(true));
      to.copy_(from);
    });
    for_each_input(pinned[slot], inputs, [&](const torch::Tensor& from, torch::Tensor& to) {
      if (!to.defined())
        to = torch::empty_like(from, from.options().device(runner.stream().device()).pinned_memory(false));
      to.copy_(from, /*non_blocking=*/true);
    });
    sent[slot].record(runner.stream());
  }
};

CapturedStep::CapturedStep(Body body, torch::Device device) : contents_(new Contents(std::move(body), device)) {
  c10::cuda::device_synchronize();  // parameters were created on another stream
}

CapturedStep::~CapturedStep() = default;

void CapturedStep::operator()(const StepInputs& host) {
  Contents& c = *contents_;
  const c10::cuda::CUDAStreamGuard guard(c.runner.stream());
  c.send(host);
  std::optional<CudnnMeasures> measures;
  if (!c.runner.is_captured()) measures.emplace();
  c.runner.run([&c] { c.body(c.inputs); });
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
