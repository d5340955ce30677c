#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "segre/core/utf8.h"
#include "segre/io/gzip.h"

namespace segre {

/// How a delimited file is written.
struct CsvFormat {
  /// Stands for the delimiter that the beginning of the file shows, see likely_delimiters.
  static constexpr char kFound = '\0';

  char delimiter = ',';
  TextEncoding encoding = TextEncoding::utf8;
  bool has_header = true;  ///< the first row names the columns; messages call them so
};

/// Reads a delimited file (RFC 4180: fields may be quoted, quotes doubled, line ends LF or CRLF; plain or gzip) row by
/// row, holding one row. Blank lines are skipped. Fields are UTF-8, whatever the file is.
///
///   CsvReader csv("t.csv");
///   while (csv.next()) use(csv.field(0));
///
/// InputError names file and line of an unclosed quote, a row with another number of fields than the first, a byte that
/// is not text in the file's encoding, or a carriage return that ends no line; and a file whose beginning shows several
/// delimiters where CsvFormat::kFound asks for it.
class CsvReader {
 public:
  explicit CsvReader(const std::filesystem::path& path, char delimiter = ',');
  CsvReader(const std::filesystem::path& path, const CsvFormat& format);

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
  /// What a column is called: by the first row if that is a header, else x1, x2, ...
  std::string column_name(int64_t i) const;
  /// What separates the fields.
  char delimiter() const { return format_.delimiter; }
  /// The file, for messages.
  const std::string& name() const { return bytes_.name(); }

 private:
  static constexpr int kEnd = -1;
  int peek();
  int take();
  void read_quoted();
  void check_mark();
  void find_delimiter();
  void check_row();
  void check_text() const;
  void convert_latin1();

  ByteReader bytes_;
  CsvFormat format_;
  std::string buffer_;
  size_t at_ = 0;             // next byte of the buffer
  std::string row_;           // the fields of the row, end to end
  std::vector<size_t> ends_;  // where each field ends in it
  int64_t line_ = 1;          // of the next byte
  int64_t row_line_ = 1;
  int64_t first_row_fields_ = -1;
  std::vector<std::string> header_;  // the first row, where it names the columns
};

}  // namespace segre
