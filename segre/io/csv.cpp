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

std::string cell_text(const Space& space, const Column& column, const int64_t* labels, std::optional<double> within,
                      const GivenValues* given) {
  const Bins* bins = space.bins(column.first);
  const bool is_value = bins != nullptr && labels[0] < bins->size() && (within || bins->are_levels);
  if (!is_value) return space.label_name(column.first, labels[0]);
  const Bins::Place place{labels[0], column.n_variables == 2 ? labels[1] : 0};
  const double u = within.value_or(kMiddle);
  if (given != nullptr)
    if (const auto at = given->find(column.first); at != given->end()) return draw_given(*bins, place, at->second, u);
  return bins->draw(place, u);
}

void write_labels_csv(std::ostream& out, const Space& space, const torch::Tensor& labels, bool with_header,
                      const std::optional<BinValues>& values) {
  check_labels(space, labels);
  const auto columns = space.columns_and_variables();
  std::vector<std::vector<std::string>> names;
  for (const Column& column : columns) {
    const int64_t i = column.first;
    if (with_header) out << (i > 0 ? "," : "") << csv_field(column.name);
    names.emplace_back();
    for (int64_t j = 0; j < space.n_labels(i); ++j) names.back().push_back(csv_field(space.label_name(i, j)));
    if (const auto& missing = space.missing_text(i))  // a blank line would be no row
      names.back().back() = columns.size() == 1 && missing->empty() ? "\"\"" : csv_field(*missing);
  }
  if (with_header) out << '\n';
  const auto cpu = labels.to(torch::kCPU).contiguous();
  const auto* label = cpu.data_ptr<int64_t>();
  std::string text;
  for (int64_t row = 0; row < cpu.size(0); ++row, label += space.n_variables())
    for (size_t k = 0; k < columns.size(); ++k) {
      const int64_t i = columns[k].first;
      const Bins* bins = space.bins(i);
      const bool is_number = bins != nullptr && label[i] < bins->size();
      if (is_number && (bins->are_levels || (values && !values->names_of_bins))) {
        const auto within = values ? std::optional(values->within(space, row, i)) : std::nullopt;
        text += cell_text(space, columns[k], label + i, within, values ? values->given.get() : nullptr);
      } else {
        text += names[k][label[i]];
      }
      text += k + 1 == columns.size() ? '\n' : ',';
    }
  out << text;
}

}  // namespace segre
