#include "segre/core/memory.h"

#include "tests/support/support.h"

namespace segre {
namespace {

constexpr int64_t kExbibyte = int64_t{1} << 60;

TEST(Memory, BytesAreWrittenInUnitsOf1024) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1536), "1.5 kB");
  EXPECT_EQ(format_bytes(int64_t{1} << 20), "1.0 MB");
  EXPECT_EQ(format_bytes(13'207'024'435), "12.3 GB");
  EXPECT_EQ(format_bytes(4 * kExbibyte), "4.0 EB");
}

TEST(Memory, SomeIsAvailableAndNotMoreThanAnyMachineHas) {
  const int64_t bytes = available_memory(torch::kCPU);
  EXPECT_GT(bytes, int64_t{1} << 20);
  EXPECT_LT(bytes, kExbibyte);
}

TEST(Memory, WhatFitsIsLetThrough) { EXPECT_NO_THROW(require_memory(1 << 16, "the batch", torch::kCPU)); }

TEST(Memory, WhatCannotFitIsRefusedWithBothSizes) {
  const std::string message = test::input_error([] { require_memory(4 * kExbibyte, "the batch", torch::kCPU); });
  EXPECT_EQ(message.rfind("the batch needs 4.0 EB, ", 0), 0u) << message;
  EXPECT_NE(message.find(" are free on cpu"), std::string::npos) << message;
  // The free size stands between: a number with a unit.
  const std::string free = message.substr(24, message.find(" are free") - 24);
  EXPECT_NE(free.find_first_of("0123456789"), std::string::npos) << message;
  EXPECT_EQ(free.back(), 'B') << message;
}

TEST(Memory, AvailableOnTheGpuIsLessThanItHas_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const int64_t before = available_memory(torch::kCUDA);
  EXPECT_GT(before, int64_t{1} << 20);
  constexpr int64_t kHeld = int64_t{1} << 30;
  const auto held = torch::empty({kHeld}, torch::dtype(torch::kUInt8).device(torch::kCUDA));
  EXPECT_LE(available_memory(torch::kCUDA), before - kHeld);
}

}  // namespace
}  // namespace segre
