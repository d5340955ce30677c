#include "segre/core/memory.h"

#include <fstream>
#include <limits>

#include "tests/support/support.h"

namespace segre::memory_test {
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

TEST(Memory, AvailableIsNoMoreThanTheMachineHas) {
  std::ifstream in("/proc/meminfo");
  double kilobytes = 0.0;
  for (std::string key; in >> key;)
    if (key == "MemAvailable:") in >> kilobytes;
  constexpr double kMoves = 512e6;  // other programs allocate and free between the two readings
  EXPECT_LT(static_cast<double>(available_memory(torch::kCPU)), 1024.0 * kilobytes + kMoves);
}

TEST(Memory, CachedFilesThatNobodyUsesDoNotCountAgainstAContainersLimit) {
  const test::ScratchFolder folder;
  EXPECT_EQ(cgroup_available(folder.path()), std::numeric_limits<int64_t>::max()) << "no such files";
  test::write_text(folder / "memory.max", "1000\n");
  test::write_text(folder / "memory.current", "900\n");
  EXPECT_EQ(cgroup_available(folder.path()), 100) << "no memory.stat";
  test::write_text(folder / "memory.stat", "anon 200\nfile 700\ninactive_anon 5\ninactive_file 600\nactive_file 100\n");
  EXPECT_EQ(cgroup_available(folder.path()), 700);
  test::write_text(folder / "memory.max", "max\n");
  EXPECT_EQ(cgroup_available(folder.path()), std::numeric_limits<int64_t>::max());
}

TEST(Memory, WhatFitsIsLetThrough) { EXPECT_NO_THROW(require_memory(1 << 16, "the batch", torch::kCPU)); }

TEST(Memory, WhatCannotFitIsRefusedWithBothSizes) {
  const std::string message = test::input_error([] { require_memory(4 * kExbibyte, "the batch", torch::kCPU); });
  EXPECT_EQ(message.rfind("the batch needs 4.0 EB, ", 0), 0u) << message;
  EXPECT_NE(message.find(" are free on cpu"), std::string::npos) << message;
  // The free size is in between: a number with a unit.
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
}  // namespace segre::memory_test
