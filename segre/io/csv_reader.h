#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "segre/io/gzip.h"

namespace segre {

/// Reads a delimited file (RFC 4180: fields may be quoted, quotes doubled, line ends LF or CRLF; plain or gzip) row by
/// row, holding one row. Blank lines are skipped.
///
///   CsvReader csv("t.csv");
///   while (csv.next()) use(csv.field(0));
///
/// InputError names file and line of an unclosed quote or a row with another number of fields than the first.
class CsvReader {
 public:
  explicit CsvReader(const std::filesystem::path& path, char delimiter = ',');

  /// Goes to the next row; false at the end of the file.
  bool next();
  /// Number of the line on which the row starts, counted from 1.
  int64_t line() const { return row_line_; }
  int64_t n_fields() const { return static_cast<int64_t>(ends_.size()); }
  /// A field of the row, good until the next row.
  std::string_view field(int64_t i) const {
    const size_t begin = i > 0 ? ends_[i - 1] : 0;
    return std::string_view(row_).substr(begin, ends_[i] - begin);
  }
  /// The row's fields, as copies.
  std::vector<std::string> fields() const;
  /// The file, for messages.
  const std::string& name() const { return bytes_.name(); }

 private:
  static constexpr int kEnd = -1;
  int peek();
  int take();
  void read_quoted();
  void check_row();

  ByteReader bytes_;
  char delimiter_;
  std::string buffer_;
  size_t at_ = 0;             // next byte of the buffer
  std::string row_;           // the fields of the row, end to end
  std::vector<size_t> ends_;  // where each field ends in it
  int64_t line_ = 1;          // of the next byte
  int64_t row_line_ = 1;
  int64_t first_row_fields_ = -1;
};

}  // namespace segre
