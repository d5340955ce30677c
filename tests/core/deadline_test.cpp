#include "segre/core/deadline.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "segre/core/work.h"
#include "tests/support/threads.h"

namespace segre::deadline_test {
namespace {

TEST(Deadline, IsThatOfTheThreadWhileItsGuardLives) {
  check_deadline();
  {
    const DeadlineGuard guard(0.0);
    EXPECT_THROW(check_deadline(), DeadlineExceeded);
    EXPECT_THROW(WorkCallbacks().check(), DeadlineExceeded);
    const DeadlineGuard later(1000.0);
    EXPECT_THROW(check_deadline(), DeadlineExceeded) << "the earliest counts";
    std::thread([] { check_deadline(); }).join();
  }
  check_deadline();
  EXPECT_EQ(DeadlineGuard::current(), DeadlineGuard::Time::max());
}

TEST(Deadline, HoldsForTheThreadsThatShareTheWork) {
  const test::Threads four(4);
  std::atomic<int> done = 0;
  const auto wait = [&](int64_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ++done;
  };
  {
    const DeadlineGuard guard(0.1);
    EXPECT_THROW(for_each_block(1000, /*on_cpu=*/true, wait), DeadlineExceeded);
  }
  EXPECT_LT(done, 200);
  for_each_block(8, /*on_cpu=*/true, wait);  // the threads of the pool have no deadline of their own
}

}  // namespace
}  // namespace segre::deadline_test
