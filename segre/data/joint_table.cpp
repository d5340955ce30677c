#include "segre/data/joint_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iomanip>
#include <map>
#include <numeric>
#include <set>

#include "segre/core/error.h"
#include "segre/core/memory.h"
#include "segre/core/parallel.h"
#include "segre/data/check_joint.h"
#include "segre/data/label_dictionary.h"
#include "segre/io/csv.h"

namespace segre {
namespace {

constexpr double kSumTolerance = 1e-6;

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
               "', expected variable names and, last, p");
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

// InputError unless there is a weight for each labeling, finite and not negative; gives them as float64.
torch::Tensor checked_weights(const torch::Tensor& weights, int64_t n_labelings) {
  if (!weights.defined() || weights.dim() != 1 || weights.size(0) != n_labelings)
    fail_input("a joint distribution needs a weight for each of its ", n_labelings, " labelings, found ",
               weights.defined() ? concat("shape ", weights.sizes()) : "no tensor");
  const auto values = weights.to(torch::kCPU, torch::kFloat64).contiguous();
  const auto* value = values.data_ptr<double>();
  for (int64_t r = 0; r < n_labelings; ++r)
    if (!std::isfinite(value[r]) || value[r] < 0.0)
      fail_input("the weight of labeling ", r, " is ", value[r], ", a finite number from 0 up was expected");
  return values;
}

}  // namespace

void check_joint(const JointTable& table) {
  check_labels(table.space, table.labelings);
  const auto p = checked_weights(table.p, table.labelings.size(0));
  if (table.p.scalar_type() != torch::kFloat64)
    fail_input("the probabilities of a joint distribution are ", table.p.dtype().name(), ", double was expected");
  if (const double total = p.sum().item<double>(); p.numel() == 0 || std::abs(total - 1.0) > kSumTolerance)
    fail_input("the probabilities of a joint distribution sum to ", std::setprecision(10), total,
               ", expected 1 within ", kSumTolerance);
}

JointTable make_joint_table(const Space& space, const torch::Tensor& labelings, const torch::Tensor& weights,
                            const Origin& origin) {
  check_labels(space, labelings);
  const auto values = checked_weights(weights, labelings.size(0));
  const auto keep = (values > 0).nonzero().squeeze(1);
  const auto kept = values.index_select(0, keep);
  if (kept.numel() == 0) fail_input("a joint distribution needs at least one labeling with positive probability");
  if (!std::isfinite(kept.sum().item<double>()))
    fail_input("the weights of a joint distribution sum to more than a number holds; divide them all by the largest");
  return {space, labelings.index_select(0, keep).contiguous(), kept / kept.sum(), origin.select(keep)};
}

JointTable read_joint_csv(const std::filesystem::path& path, TextEncoding encoding) {
  const std::string file = path.string();
  const auto rows = read_csv(path, encoding);
  if (rows.size() < 2) fail_input(file, ": has a header and no labelings");
  const auto [variables, labelings] = read_labelings(file, rows);
  std::map<std::vector<int64_t>, int64_t> line_of;
  std::vector<int64_t> labels;
  std::vector<double> p;
  ItemNumbers lines;
  for (size_t r = 1; r < rows.size(); ++r) {
    const auto& labeling = labelings[r - 1];
    const auto [at, is_new] = line_of.try_emplace(labeling, rows[r].line);
    if (!is_new) fail_input(file, ":", rows[r].line, ": this labeling was given on line ", at->second, " already");
    p.push_back(parse_probability(file, rows[r]));
    lines.add(rows[r].line);
    labels.insert(labels.end(), labeling.begin(), labeling.end());
  }
  const double total = std::accumulate(p.begin(), p.end(), 0.0);
  if (std::abs(total - 1.0) > kSumTolerance)
    fail_input(file, ": column p sums to ", std::setprecision(10), total, ", expected 1 within ", kSumTolerance);
  const auto n = static_cast<int64_t>(variables.size());
  return make_joint_table(Space::table(variables), torch::tensor(labels, torch::kInt64).view({-1, n}),
                          torch::tensor(p, torch::kFloat64), Origin::lines(file, std::move(lines)));
}

JointSampler::JointSampler(const JointTable& table) : labelings_(table.labelings) {
  check_joint(table);
  const auto p = table.p.contiguous();
  cumulative_.resize(p.numel());
  std::partial_sum(p.data_ptr<double>(), p.data_ptr<double>() + p.numel(), cumulative_.begin());
}

torch::Tensor JointSampler::draw(const RandomStream& random, uint64_t first_item, int64_t count) const {
  require_memory(8.0 * static_cast<double>(count) * static_cast<double>(labelings_.size(1) + 1),
                 concat(count, " items of ", labelings_.size(1), " variables"), torch::kCPU);
  auto rows = torch::empty({count}, torch::kInt64);
  auto* row = rows.data_ptr<int64_t>();
  const auto last = static_cast<int64_t>(cumulative_.size()) - 1;
  constexpr int64_t kGrain = 4096;
  parallel_for(0, count, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const double u = uniform_double(random, first_item + static_cast<uint64_t>(k)) * cumulative_.back();
      const auto at = std::upper_bound(cumulative_.begin(), cumulative_.end(), u);
      row[k] = std::min<int64_t>(at - cumulative_.begin(), last);
    }
  });
  return labelings_.index_select(0, rows);
}

}  // namespace segre
