#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <string>

// Helpers for tests of error messages, besides input_error().

namespace segre::test {

/// The message of whatever exception `action` throws; "" if it throws none.
template <class Action>
std::string any_error(Action&& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

/// Whether `part` occurs in `text`; a failure shows both.
inline testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << part << "' is not in '" << text << "'";
}

/// What follows `prefix` in a message; the test fails if the message does not start with it.
inline std::string after(const std::string& prefix, std::string message) {
  EXPECT_TRUE(message.starts_with(prefix)) << message;
  return message.erase(0, prefix.size());
}

}  // namespace segre::test
