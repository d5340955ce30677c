#include "segre/core/error.h"

#include <array>
#include <cstdio>

namespace segre {
namespace {

constexpr size_t kLongest = 4000;  // characters of a message
constexpr size_t kHead = 3000;     // kept at the start of a longer one, and
constexpr size_t kTail = 800;      // at its end, which has what was expected

std::string escape(unsigned char c) {
  if (c == '\n') return "\\n";
  if (c == '\r') return "\\r";
  if (c == '\t') return "\\t";
  std::array<char, 8> code{};
  std::snprintf(code.data(), code.size(), "\\x%02x", c);
  return code.data();
}

std::string without_middle(const std::string& text) {
  if (text.size() <= kLongest) return text;
  return concat(text.substr(0, kHead), " ... (", text.size() - kHead - kTail, " characters left out) ... ",
                text.substr(text.size() - kTail));
}

}  // namespace

std::string one_line(const std::string& text) {
  std::string line;
  for (const char c : without_middle(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      line += escape(byte);
    } else {
      line += c;
    }
  }
  return line;
}

}  // namespace segre
