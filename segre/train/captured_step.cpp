#include "segre/train/captured_step.h"

#include "segre/core/error.h"

#ifdef SEGRE_CUDA
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>

#include "segre/core/graph_runner.h"
#endif

namespace segre {

#ifdef SEGRE_CUDA
namespace {

constexpr int64_t kAhead = 8;  // maximum number of steps the host may be ahead

// While alive, cuDNN benchmarks algorithms for each convolution. A process-wide setting: it is changed only inside a
// runner's work, and no two of them run at the same time.
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

// Inputs in one piece of memory: sending each on its own takes longer than the bytes.
struct Packed {
  torch::Tensor bytes{};  // [total] uint8; undefined before the first step
  StepInputs views{};     // parts of it

  // Memory for inputs of these shapes and types.
  static Packed like(StepInputs inputs, torch::TensorOptions where) {
    constexpr int64_t kAlignment = 64;  // more than any type or vectorised load needs
    const auto padded = [](const torch::Tensor& x) {
      return (static_cast<int64_t>(x.nbytes()) + kAlignment - 1) / kAlignment * kAlignment;
    };
    int64_t total = 0;
    for_each_input(inputs, inputs, [&](const torch::Tensor& x, const torch::Tensor&) { total += padded(x); });
    Packed out{torch::empty({total}, where.dtype(torch::kUInt8))};
    int64_t at = 0;
    for_each_input(inputs, out.views, [&](const torch::Tensor& x, torch::Tensor& view) {
      view = out.bytes.narrow(0, at, static_cast<int64_t>(x.nbytes())).view(x.scalar_type()).view(x.sizes());
      at += padded(x);
    });
    return out;
  }
};

}  // namespace

struct CapturedStep::Contents {
  std::vector<Stage> stages;
  std::vector<std::unique_ptr<GraphRunner>> runners{};  // of each stage
  Packed inputs{};                                      // on the device; the graphs read them
  Packed pinned[kAhead]{};                              // on their way there
  at::cuda::CUDAEvent sent[kAhead]{};                   // when each may be overwritten
  int64_t n_steps = 0;

  Contents(std::vector<Stage> parts, torch::Device device) : stages(std::move(parts)) {
    for (size_t k = 0; k < stages.size(); ++k)
      runners.push_back(std::make_unique<GraphRunner>(device, GraphRunner::Priority::high));
  }

  void send(const StepInputs& host) {
    const auto slot = n_steps % kAhead;
    if (n_steps >= kAhead) sent[slot].synchronize();
    Packed& on_the_way = pinned[slot];
    if (!on_the_way.bytes.defined())
      on_the_way = Packed::like(host, torch::TensorOptions(torch::kCPU).pinned_memory(true));
    if (!inputs.bytes.defined()) inputs = Packed::like(host, torch::TensorOptions(runners.front()->stream().device()));
    for_each_input(host, on_the_way.views, [](const torch::Tensor& from, torch::Tensor& to) { to.copy_(from); });
    inputs.bytes.copy_(on_the_way.bytes, /*non_blocking=*/true);
    sent[slot].record(runners.front()->stream());
  }
};

CapturedStep::CapturedStep(std::vector<Stage> stages, torch::Device device)
    : contents_(new Contents(std::move(stages), device)) {
  synchronize();  // parameters were created on another stream
}

CapturedStep::~CapturedStep() = default;

void CapturedStep::operator()(const StepInputs& host) {
  Contents& c = *contents_;
  for (size_t k = 0; k < c.stages.size(); ++k) {
    GraphRunner& runner = *c.runners[k];
    const c10::cuda::CUDAStreamGuard guard(runner.stream());
    if (k == 0) c.send(host);
    runner.run([&] {  // a replay does not come by here
      const CudnnMeasures measures;
      c.stages[k].work(c.inputs.views);
    });
    if (c.stages[k].then) c.stages[k].then();
    if (c.stages.size() > 1) runner.stream().synchronize();  // each has a stream of its own
  }
  ++c.n_steps;
}

// Not for the whole device: another thread may be capturing on it, and CUDA would refuse.
void CapturedStep::synchronize() {
  for (const auto& runner : contents_->runners) runner->stream().synchronize();
  c10::cuda::getCurrentCUDAStream(contents_->runners.front()->stream().device_index()).synchronize();
}

#else

struct CapturedStep::Contents {};
// NOLINTNEXTLINE(performance-unnecessary-value-param): the signature of the build with CUDA
CapturedStep::CapturedStep(std::vector<Stage> /*stages*/, torch::Device /*device*/) {
  fail("this build of segre has no CUDA");
}
CapturedStep::~CapturedStep() = default;
void CapturedStep::operator()(const StepInputs& /*host*/) {}
void CapturedStep::synchronize() {}

#endif

}  // namespace segre
