#include "segre/io/growing_buffer.h"

#include <numeric>

#include "segre/io/mapped_rows.h"
#include "tests/support/mapped.h"

namespace segre::growing_buffer_test {
namespace {

constexpr int64_t kMany = 100'000;

GrowingArray<int32_t> numbered(int64_t count, int64_t most_in_memory) {
  GrowingArray<int32_t> numbers(most_in_memory);
  for (int64_t k = 0; k < count; ++k) numbers.push_back(static_cast<int32_t>(3 * k));
  return numbers;
}

TEST(GrowingArray, HoldsWhatWasAddedInMemoryAndInAFile) {
  for (const int64_t most : {int64_t{0}, int64_t{1000}, GrowingBuffer::kMostInMemory}) {
    GrowingArray<int32_t> numbers = numbered(kMany, most);
    ASSERT_EQ(numbers.size(), kMany);
    for (int64_t k = 0; k < kMany; k += 97) ASSERT_EQ(numbers[k], 3 * k) << most;
    numbers.release();  // nothing is lost
    numbers[5] = -1;
    EXPECT_EQ(numbers[5], -1);
    EXPECT_EQ(std::accumulate(numbers.begin(), numbers.end(), int64_t{0}), 3 * kMany * (kMany - 1) / 2 - 16);
  }
}

TEST(GrowingArray, BecomesATensorWithoutACopy) {
  for (const int64_t most : {int64_t{1000}, GrowingBuffer::kMostInMemory}) {
    GrowingArray<int32_t> numbers = numbered(kMany, most);
    const void* const data = numbers.begin();
    const auto tensor = numbers.take(10, torch::kInt32);
    EXPECT_EQ(tensor.data_ptr(), data);
    EXPECT_EQ(is_mapped(tensor), most == 1000);
    EXPECT_TRUE(torch::equal(tensor, 3 * torch::arange(kMany, torch::kInt32).view({-1, 10})));
    EXPECT_TRUE(numbers.empty());
    numbers.push_back(7);  // starts anew
    EXPECT_EQ(numbers[0], 7);
    EXPECT_EQ(tensor[0][1].item<int64_t>(), 3);
  }
  EXPECT_EQ(GrowingArray<int32_t>().take(4, torch::kInt32).sizes(), (std::vector<int64_t>{0, 4}));
}

TEST(GrowingArray, MovesItsContents) {
  GrowingArray<int32_t> first = numbered(5000, 1000);
  GrowingArray<int32_t> second = std::move(first);
  EXPECT_EQ(second.size(), 5000);
  EXPECT_EQ(second[4999], 3 * 4999);
  second = numbered(3, 1000);
  EXPECT_EQ(second.size(), 3);
  second.clear();
  EXPECT_TRUE(second.empty());
}

TEST(GrowingArray, PartsAreWholeRowsInOrder) {
  constexpr int64_t kColumns = 7;
  GrowingArray<int32_t> numbers = numbered(1'500'000 * kColumns, 1000);  // more than one part
  int64_t seen = 0;
  int64_t n_parts = 0;
  numbers.for_each_part(kColumns, [&](const int32_t* part, int64_t count) {
    EXPECT_EQ(part[0], 3 * seen);
    EXPECT_EQ(count % kColumns, 0);
    seen += count;
    ++n_parts;
  });
  EXPECT_EQ(seen, numbers.size());
  EXPECT_GT(n_parts, 1);
}

TEST(GrowingArray, InAFileTakesLittleMemory) {
  if (!test::kCountsMemory) GTEST_SKIP() << "sanitizers keep memory";
  const int64_t before = test::resident_bytes();
  GrowingArray<int32_t> numbers = numbered(75'000'000, 1 << 20);  // 300 MB
  EXPECT_LT(test::resident_bytes() - before, int64_t{150} << 20);
  EXPECT_EQ(numbers[74'999'999], 224'999'997);
}

TEST(LargeTensor, IsInAFileBeyondItsLimit) {
  auto tensor = large_tensor({100, 100}, torch::kInt16, 1000);
  EXPECT_TRUE(is_mapped(tensor));
  tensor.copy_(torch::arange(10'000).view({100, 100}));
  release_pages(tensor);
  EXPECT_TRUE(torch::equal(tensor.to(torch::kInt64), torch::arange(10'000).view({100, 100})));
  EXPECT_FALSE(is_mapped(large_tensor({10, 10}, torch::kInt16, 1000)));
}

TEST(LargeTensor, ConvertsMappedOnesAsTensorsConvert) {
  const auto labels = torch::arange(6000).remainder(200).view({-1, 3});
  for (const auto from : {torch::kUInt8, torch::kInt32, torch::kInt64})
    for (const auto to : {torch::kUInt8, torch::kInt16, torch::kInt32}) {
      const auto view = test::mapped(labels.to(from));
      const auto found = converted(view, to);
      EXPECT_EQ(found.scalar_type(), to);
      EXPECT_TRUE(torch::equal(found, labels.to(to)));
      EXPECT_EQ(found.data_ptr() == view.data_ptr(), from == to) << "no copy of what has the type";
    }
}

}  // namespace
}  // namespace segre::growing_buffer_test
