#pragma once

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "segre/space/space.h"

namespace segre {

/// One line of a CSV file: its number, counted from 1, and its fields.
struct CsvRow {
  int64_t line = 0;
  std::vector<std::string> fields;
};

/// Reads a comma-separated file (RFC 4180: fields may be quoted, quotes doubled, line ends LF or CRLF). Blank lines
/// are skipped. InputError names file and line of an unclosed quote or a row with another number of fields than
/// the first.
std::vector<CsvRow> read_csv(const std::filesystem::path& path);

/// Quotes a field where it needs it.
std::string csv_field(const std::string& text);

/// Writes labels [B, n] as rows of label names, the header of variable names first where `with_header`.
void write_labels_csv(std::ostream& out, const Space& space, const torch::Tensor& labels, bool with_header);

}  // namespace segre
