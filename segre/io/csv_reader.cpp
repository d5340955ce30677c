#include "segre/io/csv_reader.h"

namespace segre {
namespace {

constexpr size_t kBuffer = size_t{1} << 20;

}  // namespace

CsvReader::CsvReader(const std::filesystem::path& path, char delimiter) : bytes_(path), delimiter_(delimiter) {
  // The byte order mark some spreadsheets write.
  if (peek() != kEnd && buffer_.starts_with("\xef\xbb\xbf")) at_ = 3;
}

int CsvReader::peek() {
  if (at_ == buffer_.size()) {
    buffer_.resize(kBuffer);
    buffer_.resize(bytes_.read(buffer_.data(), kBuffer));
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

// From after an opening quote to after the closing one.
void CsvReader::read_quoted() {
  const int64_t opened = line_;
  for (;;) {
    const int c = take();
    if (c == kEnd) fail_input(name(), ":", opened, ": a quote is opened and never closed");
    if (c == '\n') ++line_;
    if (c == '"') {
      if (peek() != '"') return;
      take();
    }
    row_ += static_cast<char>(c);
  }
}

void CsvReader::check_row() {
  if (first_row_fields_ < 0) first_row_fields_ = n_fields();
  if (n_fields() != first_row_fields_)
    fail_input(name(), ":", row_line_, ": ", n_fields(), " fields where the header has ", first_row_fields_);
}

bool CsvReader::next() {
  row_.clear();
  ends_.clear();
  row_line_ = line_;
  bool quoted = false;  // the field had quotes, so that it is one even if empty
  for (;;) {
    const int c = take();
    const size_t begin = ends_.empty() ? 0 : ends_.back();
    if (c == '"' && row_.size() == begin) {
      quoted = true;
      read_quoted();
    } else if (c == static_cast<unsigned char>(delimiter_)) {
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
    } else if (c != '\r' || (peek() != '\n' && peek() != kEnd)) {
      row_ += static_cast<char>(c);
    }
  }
}

std::vector<std::string> CsvReader::fields() const {
  std::vector<std::string> copies;
  for (int64_t i = 0; i < n_fields(); ++i) copies.emplace_back(field(i));
  return copies;
}

}  // namespace segre
