#include "segre/train/captured_step.h"

#ifdef SEGRE_CUDA
#include <ATen/cuda/Sleep.h>
#include <c10/cuda/CUDAGuard.h>

#include "segre/core/streams.h"
#include "tests/support/support.h"

namespace segre::captured_step_test {
namespace {

// Cycles of a few milliseconds, and of half a second or more, on GPUs of 1 to 2 GHz.
constexpr int64_t kShort = 10'000'000;
constexpr int64_t kLong = 1'000'000'000;

// It waits for its own steps. Waiting for the whole device would fail while another thread captures on it; and on
// another GPU than the current one it would wait for the wrong one.
TEST(CapturedStep, WaitsForItsStepsAndNoOthers_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const auto count = torch::zeros({1}, torch::kCUDA);
  CapturedStep step({{[&](const StepInputs& /*inputs*/) {
                      at::cuda::sleep(kShort);
                      count.add_(1.0);
                    }}},
                    torch::kCUDA);
  constexpr int kSteps = 6;  // three run directly, one is captured
  StepInputs inputs;
  inputs.counters = torch::zeros({4}, torch::kInt64);
  for (int k = 0; k < kSteps; ++k) step(inputs);
  const OwnStream another(torch::kCUDA);
  {
    const c10::cuda::CUDAStreamGuard guard(another.get());
    at::cuda::sleep(kLong);
  }
  step.synchronize();
  EXPECT_FALSE(another.get().query()) << "waited for the whole device";
  // The current stream does not wait for the steps' by itself.
  EXPECT_EQ(count.item<float>(), static_cast<float>(kSteps));
  another.get().synchronize();
}

}  // namespace
}  // namespace segre::captured_step_test
#endif
