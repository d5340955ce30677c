#include "segre/core/utf8.h"

#include <algorithm>
#include <cstdint>

namespace segre {
namespace {

constexpr size_t kLongestShown = 60;  // bytes

uint8_t byte_at(std::string_view text, size_t at) { return static_cast<uint8_t>(text[at]); }

// Bytes of the character that starts at `at`; 0 if none does. The second byte's range excludes overlong forms,
// surrogates and values beyond U+10FFFF (Unicode 15, table 3-7).
size_t character_bytes(std::string_view text, size_t at) {
  const uint8_t first = byte_at(text, at);
  if (first < 0x80) return 1;
  const size_t count = first >= 0xc2 && first <= 0xdf   ? 2
                       : (first & 0xf0) == 0xe0         ? 3
                       : first >= 0xf0 && first <= 0xf4 ? 4
                                                        : 0;
  if (count == 0 || at + count > text.size()) return 0;
  const uint8_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const uint8_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte_at(text, at + 1) < low || byte_at(text, at + 1) > high) return 0;
  for (size_t k = 2; k < count; ++k)
    if ((byte_at(text, at + k) & 0xc0) != 0x80) return 0;
  return count;
}

std::string escaped(uint8_t byte) {
  constexpr const char* kDigits = "0123456789abcdef";
  if (byte == '\n') return "\\n";
  if (byte == '\r') return "\\r";
  if (byte == '\t') return "\\t";
  return {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 0xf]};
}

}  // namespace

size_t n_characters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

size_t find_invalid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t count = character_bytes(text, at);
    if (count == 0) return at;
    at += count;
  }
  return std::string_view::npos;
}

std::string latin1_to_utf8(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte < 0x80) {
      out += c;
    } else {
      out += static_cast<char>(0xc0 | byte >> 6);
      out += static_cast<char>(0x80 | (byte & 0x3f));
    }
  }
  return out;
}

std::string printable(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (out.size() >= kLongestShown) return out + "...";
    const size_t count = character_bytes(text, at);
    const bool is_control = byte_at(text, at) < 0x20 || byte_at(text, at) == 0x7f;
    out += count == 0 || is_control ? escaped(byte_at(text, at)) : std::string(text.substr(at, count));
    at += count == 0 ? 1 : count;
  }
  return out;
}

}  // namespace segre
