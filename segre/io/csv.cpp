#include "segre/io/csv.h"

#include "segre/core/error.h"
#include "segre/io/csv_reader.h"

namespace segre {

std::vector<CsvRow> read_csv(const std::filesystem::path& path, TextEncoding encoding) {
  CsvReader csv(path, CsvFormat{.encoding = encoding});
  std::vector<CsvRow> rows;
  while (csv.next()) rows.push_back({csv.line(), csv.fields()});
  if (rows.empty()) fail_input(path.string(), ": is empty, a header line was expected");
  return rows;
}

std::string csv_field(const std::string& text, char delimiter) {
  const char special[] = {delimiter, '"', '\n', '\r', '\0'};
  if (text.find_first_of(special) == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::vector<std::string> label_texts(const Space& space, int64_t variable, const torch::Tensor& labels,
                                     const std::function<double(int64_t row)>& within) {
  const Bins* bins = within ? space.bins(variable) : nullptr;
  const auto cpu = labels.to(torch::kCPU, torch::kInt64).contiguous();
  const auto* label = cpu.const_data_ptr<int64_t>();
  std::vector<std::string> texts;
  texts.reserve(cpu.numel());
  for (int64_t row = 0; row < cpu.numel(); ++row)
    texts.push_back(bins != nullptr && label[row] < bins->size() ? bins->draw(label[row], within(row))
                                                                 : space.label_name(variable, label[row]));
  return texts;
}

void write_labels_csv(std::ostream& out, const Space& space, const torch::Tensor& labels, bool with_header,
                      const std::optional<BinValues>& values) {
  check_labels(space, labels);
  const int64_t n = space.n_variables();
  if (with_header)
    for (int64_t i = 0; i < n; ++i)
      out << (i > 0 ? "," : "") << csv_field(space.variable_name(i)) << (i + 1 == n ? "\n" : "");
  std::vector<std::vector<std::string>> names(n);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < space.n_labels(i); ++j) names[i].push_back(csv_field(space.label_name(i, j)));
    if (const auto& missing = space.missing_text(i))
      names[i].back() = n == 1 && missing->empty() ? "\"\"" : csv_field(*missing);  // a blank line would be no row
  }
  const auto cpu = labels.to(torch::kCPU).contiguous();
  const auto* label = cpu.data_ptr<int64_t>();
  std::string text;
  for (int64_t b = 0; b < cpu.size(0); ++b)
    for (int64_t i = 0; i < n; ++i, ++label) {
      const Bins* bins = values ? space.bins(i) : nullptr;
      if (bins != nullptr && *label < bins->size()) {
        const uint64_t index = (values->first_item + static_cast<uint64_t>(b)) * static_cast<uint64_t>(n);
        text += bins->draw(*label, uniform_double(values->random, index + static_cast<uint64_t>(i)));
      } else {
        text += names[i][*label];
      }
      text += i + 1 == n ? '\n' : ',';
    }
  out << text;
}

}  // namespace segre
