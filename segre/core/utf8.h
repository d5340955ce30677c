#pragma once  // internal

#include <cstddef>
#include <string>
#include <string_view>

namespace segre {

/// The character encoding of a text file.
enum class TextEncoding { utf8, latin1 };

/// Number of characters in a UTF-8 text: its bytes without continuation bytes.
size_t n_characters(std::string_view text);

/// Position of the first byte that does not belong to a UTF-8 character (cut short, overlong, a surrogate, beyond
/// U+10FFFF); npos if there is none.
size_t find_invalid_utf8(std::string_view text);

/// Converts ISO 8859-1, in which byte b is the character U+00b, to UTF-8.
std::string latin1_to_utf8(std::string_view text);

/// Formats a text for messages: on one line, with control characters and bytes that are not UTF-8 as \n or \x07, and
/// shortened if it is too long for a line ("..." replaces the rest).
std::string printable(std::string_view text);

}  // namespace segre
