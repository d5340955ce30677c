#include "segre/core/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>
#include <set>
#include <thread>

#include "segre/core/torch.h"
#include "tests/support/threads.h"

namespace segre::parallel_test {
namespace {

TEST(ParallelFor, CoversTheRangeOnceInPartsOfTheGrain) {
  for (const int threads : {1, 2, 5}) {
    const test::Threads count(threads);
    for (const int64_t size : {0, 1, 6, 7, 8, 100}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(size));
      parallel_for(0, size, 7, [&](int64_t from, int64_t to) {
        EXPECT_EQ(from % 7, 0);  // even if the loop is a single part
        for (int64_t k = from; k < to; ++k) ++seen[static_cast<size_t>(k)];
      });
      for (const auto& times : seen) EXPECT_EQ(times, 1) << threads << " threads, " << size;
    }
  }
}

// Every part waits for the others: the loop ends only if all threads have joined.
TEST(ParallelFor, UsesAsManyThreadsAsAskedFor) {
  const test::Threads four(4);
  std::atomic<int> arrived{0};
  parallel_for(0, 4, 1, [&](int64_t, int64_t) {
    ++arrived;
    while (arrived < 4) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 4);
}

// The caller does not wait for threads that have not joined: here another loop keeps the only helper busy.
TEST(ParallelFor, NeedsNoOtherThread) {
  const test::Threads two(2);
  std::atomic<int> busy{0};
  std::atomic<bool> done{false};
  std::thread other([&] {
    parallel_for(0, 2, 1, [&](int64_t, int64_t) {
      ++busy;
      while (!done) std::this_thread::yield();
    });
  });
  while (busy < 2) std::this_thread::yield();
  std::atomic<int64_t> sum{0};
  parallel_for(0, 10, 1, [&](int64_t from, int64_t) { sum += from; });
  EXPECT_EQ(sum, 45);
  done = true;
  other.join();
}

TEST(ParallelFor, ThrowsWhatAPartThrewAndWorksAfterwards) {
  const test::Threads three(3);
  for (int k = 0; k < 20; ++k) {
    std::atomic<int> inside{0};
    EXPECT_THROW(parallel_for(0, 50, 1,
                              [&](int64_t from, int64_t) {
                                ++inside;
                                if (from == 13) throw std::runtime_error("13");
                                --inside;
                              }),
                 std::runtime_error);
    EXPECT_EQ(inside, 1) << "a part was still running";
  }
  std::atomic<int> n_parts{0};
  parallel_for(0, 50, 1, [&](int64_t, int64_t) { ++n_parts; });
  EXPECT_EQ(n_parts, 50);
}

TEST(ParallelFor, InsideAPartIsAPlainLoopAndLibTorchHasOneThread) {
  const test::Threads three(3);
  parallel_for(0, 6, 1, [&](int64_t, int64_t) {
    EXPECT_EQ(at::get_num_threads(), 1);
    std::set<std::thread::id> threads;
    parallel_for(0, 100, 1, [&](int64_t, int64_t) { threads.insert(std::this_thread::get_id()); });
    EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
  });
  EXPECT_EQ(at::get_num_threads(), 3);
}

TEST(ParallelFor, PartsRoundAsTheCallerDoes) {
  const test::Threads three(3);
  std::fesetround(FE_UPWARD);
  parallel_for(0, 12, 1, [](int64_t, int64_t) {
    EXPECT_EQ(std::fegetround(), FE_UPWARD);
    std::this_thread::yield();
  });
  std::fesetround(FE_TONEAREST);
}

TEST(ParallelFor, ServesSeveralCallersAtOnce) {
  const test::Threads three(3);
  std::vector<std::thread> callers;
  std::atomic<int64_t> sum{0};
  for (int k = 0; k < 4; ++k)
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round)
        parallel_for(0, 20, 3, [&](int64_t from, int64_t to) { sum += to - from; });
    });
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(sum, 4 * 200 * 20);
}

TEST(Threads, AreAtLeastOne) { EXPECT_THROW(set_threads(0), std::exception); }

}  // namespace
}  // namespace segre::parallel_test
