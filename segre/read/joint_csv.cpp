#include <charconv>
#include <cmath>
#include <iomanip>
#include <map>
#include <numeric>
#include <set>

#include "segre/core/error.h"
#include "segre/data/joint_table.h"
#include "segre/data/label_dictionary.h"
#include "segre/io/csv.h"
#include "segre/read/readers.h"

namespace segre {
namespace {

double parse_probability(const std::string& file, const CsvRow& row) {
  const std::string& text = row.fields.back();
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0.0 && value <= 1.0))
    fail_input(file, ":", row.line, ": column p holds '", printable(text), "', a number from 0 to 1 was expected");
  return value;
}

// The variables with their labels in sorted order, and the labels of each row.
struct Labelings {
  std::vector<Variable> variables;
  std::vector<std::vector<int64_t>> rows;
};

Labelings read_labelings(const std::string& file, const std::vector<CsvRow>& rows) {
  const auto& header = rows.front().fields;
  if (header.size() < 2 || header.back() != "p")
    fail_input(file, ":", rows.front().line, ": last column is '", printable(header.back()),
               "', expected variable names followed by p");
  Labelings found{{}, std::vector<std::vector<int64_t>>(rows.size() - 1)};
  std::set<std::string> seen;
  for (size_t i = 0; i + 1 < header.size(); ++i) {
    const std::string name = header[i].empty() ? concat("x", i + 1) : header[i];
    if (!seen.insert(name).second)
      fail_input(file, ":", rows.front().line, ": variable '", printable(name), "' is named twice");
    LabelDictionary dictionary;
    for (size_t r = 1; r < rows.size(); ++r) {
      if (rows[r].fields[i].empty())
        fail_input(file, ":", rows[r].line, ": column ", printable(name), " is empty, a label was expected");
      found.rows[r - 1].push_back(dictionary.number(rows[r].fields[i]));
    }
    const auto sorted = dictionary.sorted();
    for (auto& labeling : found.rows) labeling[i] = sorted.place[labeling[i]];
    found.variables.push_back({name, dictionary.size(), sorted.names});
  }
  return found;
}

}  // namespace

JointTable read_joint_csv(const std::filesystem::path& path, TextEncoding encoding) {
  const std::string file = path.string();
  const auto rows = read_csv(path, encoding);
  if (rows.size() < 2) fail_input(file, ": has a header but no labelings");
  const auto [variables, labelings] = read_labelings(file, rows);
  std::map<std::vector<int64_t>, int64_t> line_of;
  std::vector<int64_t> labels;
  std::vector<double> p;
  ItemNumbers lines;
  for (size_t r = 1; r < rows.size(); ++r) {
    const auto& labeling = labelings[r - 1];
    const auto [at, is_new] = line_of.try_emplace(labeling, rows[r].line);
    if (!is_new) fail_input(file, ":", rows[r].line, ": line ", at->second, " already has this labeling");
    p.push_back(parse_probability(file, rows[r]));
    lines.add(rows[r].line);
    labels.insert(labels.end(), labeling.begin(), labeling.end());
  }
  const double total = std::accumulate(p.begin(), p.end(), 0.0);
  if (std::abs(total - 1.0) > kJointSumTolerance)
    fail_input(file, ": column p sums to ", std::setprecision(10), total, ", expected 1 within ", kJointSumTolerance);
  const auto n = static_cast<int64_t>(variables.size());
  return make_joint_table(Space::table(variables), torch::tensor(labels, torch::kInt64).view({-1, n}),
                          torch::tensor(p, torch::kFloat64), Origin::lines(file, std::move(lines)));
}

}  // namespace segre
