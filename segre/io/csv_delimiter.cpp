#include "segre/io/csv_delimiter.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace segre {
namespace {

constexpr size_t kRowsLookedAt = 100;

// Field counts of the first rows. In part of a file the last row may be cut short and is left out.
std::vector<int64_t> count_fields(std::string_view text, char delimiter, bool is_whole_file) {
  std::vector<int64_t> counts;
  int64_t fields = 1;
  bool is_quoted = false;
  bool is_start = true;  // of a field
  bool is_blank = true;
  const auto end_row = [&] {
    if (!is_blank) counts.push_back(fields);
    fields = 1;
    is_start = is_blank = true;
  };
  for (const char c : text) {
    if (counts.size() == kRowsLookedAt) return counts;
    if (c == '\n' && !is_quoted) {
      end_row();
      continue;
    }
    if (c == '"' && (is_quoted || is_start)) {
      is_quoted = !is_quoted;  // a doubled one closes and reopens
    } else if (c == delimiter && !is_quoted) {
      ++fields;
    }
    is_start = !is_quoted && (c == delimiter || c == '"');
    is_blank = is_blank && c == '\r';
  }
  if (is_whole_file) end_row();
  return counts;
}

bool are_equal(const std::vector<int64_t>& counts) {
  return std::all_of(counts.begin(), counts.end(), [&](int64_t count) { return count == counts.front(); });
}

}  // namespace

std::string likely_delimiters(std::string_view start, bool is_whole_file) {
  const auto with_comma = count_fields(start, ',', is_whole_file);
  if (with_comma.empty() || with_comma.front() > 1) return ",";
  std::string regular;
  std::string irregular;
  for (const char delimiter : {';', '\t', '|'}) {
    const auto counts = count_fields(start, delimiter, is_whole_file);
    if (counts.empty()) continue;  // with this one, a quote is never closed
    const bool is_in_others = std::any_of(counts.begin() + 1, counts.end(), [](int64_t count) { return count > 1; });
    if (counts.front() > 1 && is_in_others) (are_equal(counts) ? regular : irregular) += delimiter;
  }
  if (!regular.empty()) return regular;
  return irregular + ",";
}

std::string delimiter_name(char delimiter) {
  switch (delimiter) {
    case ';':
      return "semicolon";
    case '\t':
      return "tab";
    case ' ':
      return "space";
    case '|':
      return "pipe";
    default:
      return "comma";
  }
}

}  // namespace segre
