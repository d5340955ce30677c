#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace segre {

/// The run failed: a full disk, diverged training, a missing device. The command line exits with 1.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The user's input is wrong: a file, an option, a config key. The command line exits with 2.
/// The message is one line that names the place, the value found and what was expected.
class InputError : public Error {
 public:
  using Error::Error;
};

/// Streams all parts into one string: concat("step ", 3) == "step 3".
template <class... Parts>
requires(sizeof...(Parts) > 0) std::string concat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

/// Formats text as one line of a message: control characters, which names and labels in files may contain, become
/// escapes such as \\n and \\x1b, and the middle of a very long text is left out.
std::string one_line(const std::string& text);

/// Throws Error with the concatenated parts, on one line, as its message.
template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw Error(one_line(concat(parts...)));
}

/// Throws InputError with the concatenated parts, on one line, as its message.
template <class... Parts>
[[noreturn]] void fail_input(const Parts&... parts) {
  throw InputError(one_line(concat(parts...)));
}

}  // namespace segre
