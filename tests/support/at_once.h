#pragma once

#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace segre::test {

/// Calls body(0) ... body(count - 1), each on a thread of its own, and waits for them; rethrows what one of them threw.
inline void at_once(int count, const std::function<void(int thread)>& body) {
  std::vector<std::exception_ptr> errors(static_cast<size_t>(count));
  std::vector<std::thread> threads;
  for (int k = 0; k < count; ++k)
    threads.emplace_back([&, k] {
      try {
        body(k);
      } catch (...) {
        errors[static_cast<size_t>(k)] = std::current_exception();
      }
    });
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace segre::test
