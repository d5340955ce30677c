#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace segre {

/// How the bytes of a text file stand for characters.
enum class TextEncoding { utf8, latin1 };

/// How many characters a text of UTF-8 has: its bytes without those that continue a character.
size_t n_characters(std::string_view text);

/// Where the first byte is that does not belong to a character of UTF-8 (cut short, overlong, a surrogate, beyond
/// U+10FFFF); npos if there is none.
size_t find_invalid_utf8(std::string_view text);

/// Text of ISO 8859-1, in which byte b is the character U+00b, as UTF-8.
std::string latin1_to_utf8(std::string_view text);

/// A text as messages show it: on one line, control characters and bytes that are not UTF-8 as \n or \x07, and no
/// longer than a line can bear ("..." stands for the rest).
std::string printable(std::string_view text);

}  // namespace segre
