#pragma once

#include <iostream>
#include <sstream>
#include <string>

#include "segre/core/log.h"

namespace segre::test {

/// Hears the log while alive; then it goes where the tests' main() sent it.
class HeardLog {
 public:
  explicit HeardLog(bool redraws = false) { send_log_to(&heard_, redraws); }
  ~HeardLog() { send_log_to(&std::cerr); }
  HeardLog(const HeardLog&) = delete;
  HeardLog& operator=(const HeardLog&) = delete;

  /// Everything since the last call.
  std::string text() {
    std::string all = heard_.str();
    heard_.str("");
    return all;
  }

 private:
  std::ostringstream heard_;
};

}  // namespace segre::test
