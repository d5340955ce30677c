#pragma once  // internal

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
  /// Detects the delimiter from the beginning of the file, see likely_delimiters.
  static constexpr char kFound = '\0';

  char delimiter = ',';
  TextEncoding encoding = TextEncoding::utf8;
  bool has_header = true;  ///< the first row names the columns, also in messages
};

/// Reads a delimited file (RFC 4180: fields may be quoted, quotes doubled, line ends LF or CRLF; plain or gzip) row by
/// row, holding one row. Blank lines are skipped. Fields are UTF-8, whatever the file's encoding.
///
///   CsvReader csv("t.csv");
///   while (csv.next()) use(csv.field(0));
///
/// InputError names the file and line of an unclosed quote, text after a closing one, a row whose number of fields
/// differs from the first, a byte that is not text in the file's encoding, or a carriage return that does not end a
/// line; with CsvFormat::kFound also a file with several likely delimiters.
class CsvReader {
 public:
  explicit CsvReader(const std::filesystem::path& path, char delimiter = ',');
  CsvReader(const std::filesystem::path& path, const CsvFormat& format);

  /// Goes to the next row; false at the end of the file.
  bool next();
  /// Number of the line on which the row starts, counted from 1.
  int64_t line() const { return row_line_; }
  int64_t n_fields() const { return static_cast<int64_t>(ends_.size()); }
  /// A field of the row, valid until the next row.
  std::string_view field(int64_t i) const {
    const size_t begin = i > 0 ? ends_[i - 1] : 0;
    return std::string_view(row_).substr(begin, ends_[i] - begin);
  }
  /// Copies of the row's fields.
  std::vector<std::string> fields() const;
  /// The name of a column: from the first row if that is a header, else x1, x2, ...
  std::string column_name(int64_t i) const;
  /// The field delimiter.
  char delimiter() const { return format_.delimiter; }
  /// Whether a line so far ended in CRLF.
  bool ends_in_crlf() const { return ends_in_crlf_; }
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
  bool ends_in_crlf_ = false;
  std::vector<std::string> header_;  // the first row, if it names the columns
};

}  // namespace segre
