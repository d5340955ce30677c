#pragma once  // internal

#include <string>
#include <vector>

namespace segre {

/// A table for display: header and rows of equal length.
struct TextTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  bool words_last = false;  ///< the last column is text
};

/// Columns aligned with spaces: the first, and a last one of text, to the left, the others to the right.
std::string aligned(const TextTable& table);

}  // namespace segre
