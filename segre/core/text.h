#pragma once  // internal

#include <string>
#include <vector>

namespace segre {

/// The pieces between separators: split("a,,b", ',') is {"a", "", "b"}; "" gives one empty piece.
std::vector<std::string> split(const std::string& text, char separator);

/// The pieces with `separator` between them.
std::string join(const std::vector<std::string>& pieces, const std::string& separator);

/// A number with `digits` digits after the point: fixed(0.5, 3) is "0.500".
std::string fixed(double value, int digits);

/// A number with `digits` significant digits, never with an exponent: plain_digits(213247.0, 3) is "213000",
/// plain_digits(0.0123456, 3) is "0.0123".
std::string plain_digits(double value, int digits);

/// Wraps a text into lines of at most `width` characters; a longer word gets its own line.
std::string wrap(const std::string& text, size_t width);

/// The candidate with the fewest insertions, deletions and substitutions to `word`, the first among equals; there must
/// be at least one. Messages about unknown names suggest it.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace segre
