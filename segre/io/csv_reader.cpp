#include "segre/io/csv_reader.h"

#include <algorithm>

#include "segre/core/error.h"
#include "segre/io/csv_delimiter.h"

namespace segre {
namespace {

#ifdef SEGRE_FUZZ
constexpr size_t kReadAtOnce = 64;  // so that small files are read in several parts
#else
constexpr size_t kReadAtOnce = size_t{1} << 20;
#endif
constexpr size_t kLongestRow = size_t{64} << 20;  // a longer one is an unclosed quote, or not a table

// Whether a byte is not plain ASCII text. Most rows have none, which one pass detects.
bool needs_look(char c) { return c == '\0' || static_cast<unsigned char>(c) >= 0x80; }

}  // namespace

CsvReader::CsvReader(const std::filesystem::path& path, char delimiter)
    : CsvReader(path, CsvFormat{.delimiter = delimiter}) {}

CsvReader::CsvReader(const std::filesystem::path& path, const CsvFormat& format) : bytes_(path), format_(format) {
  if (peek() != kEnd) check_mark();
  if (format_.delimiter == CsvFormat::kFound) find_delimiter();
}

void CsvReader::find_delimiter() {
  const std::string likely =
      likely_delimiters(std::string_view(buffer_).substr(at_), /*is_whole_file=*/buffer_.size() < kReadAtOnce);
  format_.delimiter = likely.front();
  if (likely.size() == 1) return;
  std::string names;
  for (const char delimiter : likely)
    names += concat(names.empty() ? "" : " or ", "delimiter=", delimiter_name(delimiter));
  fail_input(name(), ":1: has no comma and ", likely.size(), " possible delimiters; choose one: ", names);
}

// The byte order mark that some programs write first: that of UTF-8 is skipped.
void CsvReader::check_mark() {
  if (buffer_.starts_with("\xff\xfe") || buffer_.starts_with("\xfe\xff"))
    fail_input(name(), ":1: starts with the byte order mark of UTF-16, text in UTF-8 was expected; save it as UTF-8");
  if (!buffer_.starts_with("\xef\xbb\xbf")) return;
  if (format_.encoding == TextEncoding::latin1)
    fail_input(name(), ":1: starts with the byte order mark of UTF-8, but encoding=latin1 was given; leave that out");
  at_ = 3;
}

int CsvReader::peek() {
  if (at_ == buffer_.size()) {
    if (row_.size() + ends_.size() > kLongestRow)
      fail_input(name(), ":", row_line_, ": a row of more than ", kLongestRow >> 20,
                 " MiB, a line of a table was expected; is a quote never closed?");
    buffer_.resize(kReadAtOnce);
    buffer_.resize(bytes_.read(buffer_.data(), kReadAtOnce));
    at_ = 0;
    if (buffer_.empty()) return kEnd;
  }
  return static_cast<unsigned char>(buffer_[at_]);
}

int CsvReader::take() {
  const int c = peek();
  if (c != kEnd) ++at_;
  return c;
}

// Reads from after an opening quote to after the closing one.
void CsvReader::read_quoted() {
  const int64_t opened = line_;
  for (;;) {
    const int c = take();
    if (c == kEnd) fail_input(name(), ":", opened, ": a quote is never closed");
    if (c == '\n') ++line_;
    if (c == '"') {
      if (peek() != '"') return;
      take();
    }
    row_ += static_cast<char>(c);
  }
}

void CsvReader::check_row() {
  const bool is_first = first_row_fields_ < 0;
  if (is_first) first_row_fields_ = n_fields();
  if (n_fields() != first_row_fields_)
    fail_input(name(), ":", row_line_, ": ", n_fields(), " fields, but the ",
               format_.has_header ? "header" : "first row", " has ", first_row_fields_);
  if (std::any_of(row_.begin(), row_.end(), needs_look)) {
    check_text();
    if (format_.encoding == TextEncoding::latin1) convert_latin1();
  }
  if (is_first && format_.has_header) header_ = fields();
}

// Rejects the first byte of the row that is not text: a NUL in any encoding, an invalid byte in UTF-8.
void CsvReader::check_text() const {
  size_t bad = row_.find('\0');
  // Field by field: a character cannot span two fields.
  for (int64_t i = 0; i < n_fields() && format_.encoding == TextEncoding::utf8; ++i)
    if (const size_t at = find_invalid_utf8(field(i)); at != std::string_view::npos) {
      bad = std::min(bad, at + (i > 0 ? ends_[i - 1] : 0));
      break;
    }
  if (bad == std::string::npos) return;
  const int64_t i = std::upper_bound(ends_.begin(), ends_.end(), bad) - ends_.begin();
  const size_t begin = i > 0 ? ends_[i - 1] : 0;
  const auto row = row_.begin();
  const auto line = row_line_ + std::count(row, row + static_cast<int64_t>(bad), '\n');
  const std::string where = header_.empty() && format_.has_header ? concat("the name of column ", i + 1)
                                                                  : concat("column ", printable(column_name(i)));
  const std::string byte = printable(std::string_view(row_).substr(bad, 1));
  if (row_[bad] == '\0')
    fail_input(name(), ":", line, ": ", where, " has a NUL at byte ", bad - begin + 1, " ('", printable(field(i)),
               "'), text was expected; is the file UTF-16? Save it as UTF-8");
  fail_input(name(), ":", line, ": ", where, " is not UTF-8: ", byte, " at byte ", bad - begin + 1, " of '",
             printable(field(i)), "'; if the file is Latin-1, read it with encoding=latin1");
}

void CsvReader::convert_latin1() {
  std::string row;
  std::vector<size_t> ends;
  for (int64_t i = 0; i < n_fields(); ++i) {
    row += latin1_to_utf8(field(i));
    ends.push_back(row.size());
  }
  row_ = std::move(row);
  ends_ = std::move(ends);
}

std::string CsvReader::column_name(int64_t i) const {
  if (i < static_cast<int64_t>(header_.size()) && !header_[i].empty()) return header_[i];
  return concat("x", i + 1);
}

bool CsvReader::next() {
  row_.clear();
  ends_.clear();
  row_line_ = line_;
  bool quoted = false;  // the field had quotes, so it counts even if empty
  for (;;) {
    const int c = take();
    const size_t begin = ends_.empty() ? 0 : ends_.back();
    if (c == '"' && row_.size() == begin) {
      quoted = true;
      read_quoted();
    } else if (c == static_cast<unsigned char>(format_.delimiter)) {
      ends_.push_back(row_.size());
      quoted = false;
    } else if (c == '\n' || c == kEnd) {
      if (c == '\n') ++line_;
      if (!ends_.empty() || row_.size() > begin || quoted) {
        ends_.push_back(row_.size());
        check_row();
        return true;
      }
      if (c == kEnd) return false;
      row_line_ = line_;
    } else if (c != '\r') {
      if (quoted)
        fail_input(name(), ":", line_, ": column ", printable(column_name(static_cast<int64_t>(ends_.size()))),
                   " has '", printable(std::string(1, static_cast<char>(c))), "' after the closing quote of '",
                   printable(std::string_view(row_).substr(begin)),
                   "', a delimiter or the end of the line was expected; quotes within a field are doubled");
      row_ += static_cast<char>(c);
    } else if (peek() == '\n') {
      ends_in_crlf_ = true;
    } else if (peek() != kEnd) {
      fail_input(name(), ":", line_, ": a carriage return without a line feed; lines must end in LF or CRLF");
    }
  }
}

std::vector<std::string> CsvReader::fields() const {
  std::vector<std::string> copies;
  for (int64_t i = 0; i < n_fields(); ++i) copies.emplace_back(field(i));
  return copies;
}

}  // namespace segre
