#include "segre/io/csv.h"

#include "segre/core/error.h"
#include "segre/io/files.h"

namespace segre {
namespace {

// Splits text into rows; one pass, one character at a time.
class CsvParser {
 public:
  CsvParser(const std::string& text, std::string name) : text_(text), name_(std::move(name)) {}

  std::vector<CsvRow> parse() {
    for (; at_ < text_.size(); ++at_) take(text_[at_]);
    if (quoted_) fail_input(name_, ":", quote_line_, ": a quote is opened and never closed");
    end_row();
    return std::move(rows_);
  }

 private:
  void take(char c) {
    if (quoted_) {
      take_quoted(c);
    } else if (c == '"' && field_.empty()) {
      quoted_ = true;
      was_quoted_ = true;
      quote_line_ = line_;
    } else if (c == ',') {
      end_field();
    } else if (c == '\n') {
      end_row();
      ++line_;
      row_.line = line_;
    } else if (c != '\r' || (next() != '\n' && next() != '\0')) {
      field_ += c;
    }
  }

  void take_quoted(char c) {
    if (c == '\n') ++line_;
    if (c != '"') {
      field_ += c;
    } else if (next() == '"') {
      field_ += c;
      ++at_;
    } else {
      quoted_ = false;
    }
  }

  char next() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\0'; }

  void end_field() {
    row_.fields.push_back(std::move(field_));
    field_.clear();
    was_quoted_ = false;
  }

  void end_row() {
    const bool blank = row_.fields.empty() && field_.empty() && !was_quoted_;
    if (!blank) {
      end_field();
      if (!rows_.empty() && row_.fields.size() != rows_.front().fields.size())
        fail_input(name_, ":", row_.line, ": ", row_.fields.size(), " fields where the header has ",
                   rows_.front().fields.size());
      rows_.push_back(std::move(row_));
    }
    row_ = {};
  }

  const std::string& text_;
  std::string name_;
  size_t at_ = 0;
  int64_t line_ = 1;
  int64_t quote_line_ = 0;
  bool quoted_ = false;
  bool was_quoted_ = false;
  std::string field_;
  CsvRow row_{1, {}};
  std::vector<CsvRow> rows_;
};

}  // namespace

std::vector<CsvRow> read_csv(const std::filesystem::path& path) {
  std::string text = read_file(path);
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);  // the byte order mark some spreadsheets write
  auto rows = CsvParser(text, path.string()).parse();
  if (rows.empty()) fail_input(path.string(), ": is empty, a header line was expected");
  return rows;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

void write_labels_csv(std::ostream& out, const Space& space, const torch::Tensor& labels, bool with_header) {
  const int64_t n = space.n_variables();
  if (with_header)
    for (int64_t i = 0; i < n; ++i)
      out << (i > 0 ? "," : "") << csv_field(space.variable_name(i)) << (i + 1 == n ? "\n" : "");
  std::vector<std::vector<std::string>> names(n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < space.n_labels(i); ++j) names[i].push_back(csv_field(space.label_name(i, j)));
  const auto cpu = labels.to(torch::kCPU).contiguous();
  const auto* label = cpu.data_ptr<int64_t>();
  std::string text;
  for (int64_t b = 0; b < cpu.size(0); ++b)
    for (int64_t i = 0; i < n; ++i, ++label) {
      text += names[i][*label];
      text += i + 1 == n ? '\n' : ',';
    }
  out << text;
}

}  // namespace segre
