#include "segre/core/parallel.h"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "segre/core/deadline.h"
#include "segre/core/error.h"
#include "segre/core/one_thread.h"

namespace segre {
namespace {

using Body = std::function<void(int64_t, int64_t)>;

thread_local bool inside = false;  // whether this thread is running a part

struct Inside {
  Inside() { inside = true; }
  ~Inside() { inside = false; }
};

// A running loop. Lives on its caller's stack.
struct Loop {
  const Body& body;
  int64_t end;
  int64_t grain;
  std::atomic<int64_t> next;
  std::fenv_t environment{};                                // the caller's rounding and denormal modes
  DeadlineGuard::Time deadline = DeadlineGuard::current();  // the caller's
  int helpers_wanted = 0;                                   // the rest is guarded by the pool's mutex
  int helpers_inside = 0;
  std::exception_ptr error{};
  std::condition_variable done{};

  // Takes parts until none are left.
  void work() {
    for (int64_t from = next.fetch_add(grain); from < end; from = next.fetch_add(grain))
      body(from, std::min(end, from + grain));
  }
};

// Threads that sleep until there is a loop to help with. Never destroyed: they may sleep until the process ends.
class Pool {
 public:
  static Pool& get() {
    static Pool* const pool = new Pool;
    return *pool;
  }

  void run(Loop& loop, int helpers) {
    {
      const std::lock_guard lock(mutex_);
      for (; n_workers_ < helpers; ++n_workers_) std::thread([this] { serve(); }).detach();
      loop.helpers_wanted = helpers;
      open_.push_back(&loop);
    }
    for (int k = 0; k < helpers; ++k) wake_.notify_one();
    take_part(loop);
    std::unique_lock lock(mutex_);
    std::erase(open_, &loop);
    loop.done.wait(lock, [&] { return loop.helpers_inside == 0; });
    if (loop.error) std::rethrow_exception(loop.error);
  }

 private:
  void take_part(Loop& loop) {
    try {
      const Inside here;
      loop.work();
    } catch (...) {
      loop.next = loop.end;
      const std::lock_guard lock(mutex_);
      if (!loop.error) loop.error = std::current_exception();
    }
  }

  // The loop of a worker.
  void serve() {
    const OneThread alone;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return !open_.empty(); });
      Loop& loop = *open_.front();
      ++loop.helpers_inside;
      if (--loop.helpers_wanted == 0) open_.erase(open_.begin());
      lock.unlock();
      std::fesetenv(&loop.environment);
      {
        const DeadlineGuard guard(loop.deadline);
        take_part(loop);
      }
      lock.lock();
      if (--loop.helpers_inside == 0) loop.done.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Loop*> open_;  // loops that want another helper
  int n_workers_ = 0;
};

std::atomic<int> chosen{0};  // by set_threads; 0: not set

}  // namespace

int n_threads() {
  static const int of_libtorch = at::get_num_threads();  // in a TunedThread it is 1 for the calling thread
  const int count = chosen;
  return count > 0 ? count : of_libtorch;
}

void set_threads(int count) {
  if (count < 1) fail("set_threads(", count, "): expected at least 1");
  chosen = count;
}

void parallel_for(int64_t begin, int64_t end, int64_t grain, const Body& body) {
  if (begin >= end) return;
  if (inside) return body(begin, end);
  grain = std::max<int64_t>(1, grain);
  const int threads = n_threads();  // before LibTorch is limited to one
  const OneThread alone;
  const int64_t n_parts = (end - begin + grain - 1) / grain;
  const auto helpers = static_cast<int>(std::min<int64_t>(threads, n_parts)) - 1;
  if (helpers == 0) {
    const Inside here;
    return body(begin, end);
  }
  Loop loop{.body = body, .end = end, .grain = grain, .next = begin};
  std::fegetenv(&loop.environment);
  Pool::get().run(loop, helpers);
}

void for_each_block(int64_t n_blocks, bool on_cpu, const std::function<void(int64_t block)>& body) {
  parallel_for(0, n_blocks, on_cpu ? 1 : std::max<int64_t>(1, n_blocks), [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      check_deadline();
      body(block);
    }
  });
}

}  // namespace segre
