#include "segre/core/captured.h"

#include <torch/csrc/autograd/autograd.h>

#include <future>

#include "tests/support/at_once.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::captured_test {
namespace {

using Tensors = Captured::Tensors;

// Two outputs, one of them a gradient taken inside.
Tensors square_and_slope(const Tensors& in) {
  const torch::AutoGradMode with_gradients(true);
  const auto x = in[0].detach().requires_grad_();
  const auto y = x.square() * in[1];
  const auto slope = torch::autograd::grad({y.sum()}, {x})[0];
  return {y.detach(), slope};
}

TEST(Captured, OnTheCpuItIsAPlainCall) {
  int calls = 0;
  const Captured captured(
      [&](const Tensors& in) {
        ++calls;
        return square_and_slope(in);
      },
      torch::kCPU);
  for (const int64_t rows : {3, 5}) {  // any shape, since nothing is captured
    const auto x = test::noise({rows, 2});
    const auto out = captured({x, torch::full({1}, 3.0, torch::kFloat64)});
    ASSERT_EQ(out.size(), 2U);
    EXPECT_TRUE(torch::equal(out[0], 3.0 * x.square()));
    EXPECT_TRUE(torch::equal(out[1], 6.0 * x));
  }
  EXPECT_EQ(calls, 2);
}

TEST(Captured, ReplaysGiveWhatPlainCallsGive_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const Captured captured(square_and_slope, torch::kCUDA);
  // Three calls run directly, the others are replayed; each has its own numbers.
  for (uint64_t call = 1; call <= 8; ++call) {
    const auto x = test::noise({64, 7}, call).cuda();
    const auto factor = torch::full({1}, static_cast<double>(call), x.options());
    const auto out = captured({x, factor});
    const auto plain = square_and_slope({x, factor});
    EXPECT_TRUE(torch::equal(out[0], plain[0])) << call;
    EXPECT_TRUE(torch::equal(out[1], plain[1])) << call;
  }
}

TEST(Captured, OutputsCanBeTheNextInputsWithoutWaiting_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const auto half = [](const Tensors& in) -> Tensors { return {in[0] * 0.5 + in[1]}; };
  const Captured captured(half, torch::kCUDA);
  const auto start = test::noise({1 << 20}).cuda();
  auto x = start;
  auto y = start;
  for (int k = 0; k < 20; ++k) {
    const auto shift = start * static_cast<double>(k);  // on the caller's stream, just before the call
    x = captured({x, shift})[0];
    y = half({y, shift})[0];
  }
  EXPECT_TRUE(torch::equal(x, y));
}

TEST(Captured, AnotherShapeIsRefused_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const Captured captured([](const Tensors& in) -> Tensors { return {in[0] + 1.0}; }, torch::kCUDA);
  captured({torch::zeros({4}, torch::kCUDA)});
  EXPECT_TRUE(test::contains(test::any_error([&] { captured({torch::zeros({5}, torch::kCUDA)}); }), "different shape"));
}

TEST(Captured, ThreadsThatShareOneGetTheirOwnResults_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const Captured captured(square_and_slope, torch::kCUDA);
  test::at_once(4, [&](int thread) {
    for (int call = 0; call < 50; ++call) {  // captured at the fourth
      const auto x = test::noise({64, 7}, static_cast<uint64_t>(100 * thread + call + 1)).cuda();
      const auto factor = torch::full({1}, static_cast<double>(call), x.options());
      const auto out = captured({x, factor});
      const auto plain = square_and_slope({x, factor});
      EXPECT_TRUE(torch::equal(out[0], plain[0])) << thread << ", " << call;
      EXPECT_TRUE(torch::equal(out[1], plain[1])) << thread << ", " << call;
    }
  });
}

// The other thread allocates memory, waits for its own work, replays a graph and ends it, all during the capture.
TEST(Captured, OtherThreadsGoOnWhileOneCaptures_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  constexpr auto kPatience = std::chrono::seconds(60);
  constexpr int kFirstReplay = 4;
  std::promise<void> ready, capturing, done;
  const auto wait = [&](std::promise<void>& event) {
    if (event.get_future().wait_for(kPatience) != std::future_status::ready) fail("the other thread did not come");
  };
  const auto captures = [&] {
    int calls = 0;
    const Captured captured(
        [&](const Tensors& in) -> Tensors {
          if (++calls == kFirstReplay) {
            capturing.set_value();
            wait(done);
          }
          return {in[0] + 1.0};
        },
        torch::kCUDA);
    wait(ready);
    for (int call = 0; call < 8; ++call) {
      const auto x = torch::full({1000}, static_cast<double>(call), torch::kCUDA);
      EXPECT_TRUE(torch::equal(captured({x})[0], x + 1.0)) << call;
    }
    EXPECT_EQ(calls, kFirstReplay);
  };
  const auto goes_on = [&] {
    auto other = std::make_unique<Captured>(square_and_slope, torch::kCUDA);
    const auto x = test::noise({64, 7}).cuda();
    const auto factor = torch::ones({1}, x.options());
    for (int call = 0; call < kFirstReplay; ++call) (*other)({x, factor});
    ready.set_value();
    wait(capturing);
    for (int64_t megabytes = 1; megabytes < 100; megabytes += 9) {  // of sizes that no memory was kept for
      const auto ones = torch::ones({megabytes << 20}, torch::dtype(torch::kUInt8).device(torch::kCUDA));
      EXPECT_EQ(ones.sum().item<int64_t>(), megabytes << 20);
    }
    EXPECT_TRUE(torch::equal((*other)({x, factor})[0], x.square()));
    other.reset();
  };
  test::at_once(2, [&](int thread) {
    if (thread == 0) return captures();
    const std::string error = test::any_error(goes_on);
    done.set_value();
    EXPECT_EQ(error, "");
  });
}

TEST(Captured, ACaptureThatFailsLeavesTheDeviceUsable_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  int calls = 0;
  const Captured captured(
      [&](const Tensors& in) -> Tensors {
        const auto out = in[0] + 1.0;
        if (++calls == 4) fail("not this time");
        return {out};
      },
      torch::kCUDA);
  const auto x = test::noise({1000}).cuda();
  for (int call = 0; call < 3; ++call) captured({x});
  EXPECT_EQ(test::any_error([&] { captured({x}); }), "not this time");
  for (int call = 0; call < 3; ++call) EXPECT_TRUE(torch::equal(captured({x})[0], x + 1.0)) << call;
  EXPECT_EQ(calls, 5) << "captured at the next call, then replayed";
}

}  // namespace
}  // namespace segre::captured_test
