#include "segre/report/text_table.h"

#include <algorithm>
#include <sstream>

#include "segre/core/utf8.h"

namespace segre {

std::string aligned(const TextTable& table) {
  std::vector<size_t> widths;
  for (const std::string& cell : table.header) widths.push_back(n_characters(cell));
  for (const auto& row : table.rows)
    for (size_t k = 0; k < row.size(); ++k) widths[k] = std::max(widths[k], n_characters(row[k]));
  std::ostringstream out;
  const auto write_line = [&](const std::vector<std::string>& cells) {
    for (size_t k = 0; k < cells.size(); ++k) {
      out << (k > 0 ? "  " : "");
      if (table.words_last && k + 1 == cells.size()) {
        out << cells[k];
      } else {
        const std::string padding(widths[k] - n_characters(cells[k]), ' ');
        out << (k > 0 ? padding + cells[k] : cells[k] + padding);
      }
    }
    out << '\n';
  };
  write_line(table.header);
  for (const auto& row : table.rows) write_line(row);
  return out.str();
}

}  // namespace segre
