// Where kernels are launched, on a machine with several GPUs: StandInGpus takes their places.

#include "segre/core/launch.h"

#include <c10/core/TensorImpl.h>

#include "segre/core/device.h"
#include "segre/kernels/adam_kernel.h"
#include "segre/kernels/copy_each.h"
#include "segre/kernels/launch_parts.h"
#include "tests/support/stand_in_gpus.h"
#include "tests/support/support.h"

namespace segre::launch_test {
namespace {

using test::StandInGpus;
using Changes = std::vector<int>;

torch::Device gpu(int index) { return {torch::kCUDA, static_cast<c10::DeviceIndex>(index)}; }

// A tensor of this device as far as anyone can tell who does not touch its memory.
torch::Tensor empty_on(torch::Device device) {
  c10::Storage storage(c10::Storage::use_byte_size_t(), 0, at::DataPtr(nullptr, device));
  return at::detail::make_tensor<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                                  caffe2::TypeMeta::Make<float>());
}

// Where CUDA would run a kernel that is launched on this stream: null stands for the current device's.
struct Place {
  int device;
  void* stream;
  bool operator==(const Place&) const = default;
};
Place launch(const StandInGpus& gpus, void* stream) { return {gpus.current(), stream}; }

TEST(LaunchOn, TheNullStreamIsThatOfTheTensorsDevice) {
  const StandInGpus gpus;
  for (const int device : {0, 1, 3})
    EXPECT_EQ(launch(gpus, kernels::stream_of(empty_on(gpu(device)))), (Place{device, nullptr}));
  EXPECT_EQ(gpus.current(), 0);
  EXPECT_EQ(gpus.changes(), (Changes{1, 0, 3, 0}));
}

TEST(LaunchOn, TakesTheStreamThatIsCurrentOnTheTensorsDevice) {
  StandInGpus gpus;
  gpus.use_stream(0, 5);
  gpus.use_stream(2, 7);
  EXPECT_EQ(launch(gpus, LaunchOn(gpu(2))), (Place{2, StandInGpus::handle(7)}));
  EXPECT_EQ(launch(gpus, LaunchOn(gpu(0))), (Place{0, StandInGpus::handle(5)}));
  EXPECT_EQ(launch(gpus, LaunchOn(gpu(1))), (Place{1, nullptr}));
  EXPECT_EQ(gpus.current(), 0);
}

TEST(LaunchOn, ALaunchThatFailsRestoresTheDevice) {
  StandInGpus gpus;
  gpus.setDevice(gpu(2));
  const auto fails = [&](void* /*stream*/) {
    EXPECT_EQ(gpus.current(), 1);
    fail("no");
  };
  EXPECT_THROW(fails(LaunchOn(gpu(1))), Error);
  EXPECT_EQ(gpus.current(), 2);
}

TEST(LaunchOn, AnUnnumberedGpuIsTheCurrentOne) {
  StandInGpus gpus;
  gpus.setDevice(gpu(2));
  EXPECT_EQ(numbered(torch::kCUDA), gpu(2));
  EXPECT_EQ(numbered(gpu(1)), gpu(1));
  EXPECT_EQ(numbered(torch::kCPU), torch::Device(torch::kCPU));
}

// Kernels that allocate nothing, so that LibTorch changes no device on their behalf: called while GPU 3 is the current
// one, each goes to its tensors' GPU and comes back.
TEST(LaunchOn, KernelsGoToTheirTensorsGpu_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const auto from = test::noise({1000}, 1, torch::kFloat32).cuda();
  auto x = torch::zeros({1000}, gpu(0));
  const auto copy = torch::zeros({1000}, gpu(0));
  const auto index = torch::zeros({1}, torch::TensorOptions(gpu(0)).dtype(torch::kInt64));
  const RandomStream random(1, Purpose::probe);
  const auto numbers = torch::ones({9}, gpu(0));
  const auto one = torch::ones({1}, gpu(0));
  const kernels::AdamSegment segment{copy, from, x, x, x, {}};
  const std::pair<const char*, std::function<void()>> cases[] = {
      {"random numbers", [&] { fill_normal(x, random, 1); }},
      {"random numbers from memory", [&] { fill_normal(x, random, index); }},
      {"copies", [&] { kernels::copy_each({copy}, {from}); }},
      {"Adam", [&] { kernels::adam_cuda_({segment}, numbers, one, one); }}};
  for (const auto& [name, work] : cases) {
    StandInGpus gpus;
    gpus.setDevice(gpu(3));
    work();
    EXPECT_EQ(gpus.changes(), (Changes{3, 0, 3})) << name;
  }
}

// On machines that have a second one.
TEST(LaunchOn, TheSecondGpuGivesTheNumbersOfTheFirst_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  if (c10::impl::getDeviceGuardImpl(torch::kCUDA)->deviceCount() < 2) GTEST_SKIP() << "one GPU";
  const RandomStream random(1, Purpose::probe);
  const auto first = fill_normal(torch::empty({100'003}, gpu(0)), random, 5);
  const auto second = fill_normal(torch::empty({100'003}, gpu(1)), random, 5);
  EXPECT_TRUE(torch::equal(first.cpu(), second.cpu()));
}

}  // namespace
}  // namespace segre::launch_test
