#include "segre/eval/column_groups.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>

namespace segre {
namespace {

constexpr int64_t kFewestRows = 20;  // of a recurring value
constexpr int64_t kRestGroups = 8;   // intervals of the values that do not recur
constexpr const char* kMissingGroup = "(missing)";

// A value with all the digits it needs, so that different values have different texts.
std::string exact_text(const ValueColumn& column, double value) {
  if (column.numbers->unit != Bins::Unit::number) return column.text_of(value);
  std::array<char, 64> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

struct Counted {
  double value;
  int64_t count;
};

std::vector<Counted> count_values(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::vector<Counted> counted;
  for (const double value : values) {
    if (counted.empty() || counted.back().value != value) counted.push_back({value, 0});
    ++counted.back().count;
  }
  return counted;
}

// The values that recur, the most common ones first if they are too many; ascending.
std::vector<double> recurring(const std::vector<Counted>& counted, int64_t n_rows, const GroupOptions& options) {
  const double fewest = std::max(static_cast<double>(kFewestRows), options.least_share * static_cast<double>(n_rows));
  std::vector<Counted> common;
  for (const Counted& c : counted)
    if (static_cast<double>(c.count) >= fewest) common.push_back(c);
  std::stable_sort(common.begin(), common.end(), [](const Counted& a, const Counted& b) { return a.count > b.count; });
  if (static_cast<int64_t>(common.size()) > options.most_own) common.resize(options.most_own);
  std::vector<double> values;
  for (const Counted& c : common) values.push_back(c.value);
  std::sort(values.begin(), values.end());
  return values;
}

// The lower ends of `n` equally full intervals of values, but the first.
std::vector<double> cut(const std::vector<Counted>& counted, int64_t n) {
  int64_t total = 0;
  for (const Counted& c : counted) total += c.count;
  std::vector<double> cuts;
  int64_t below = 0;
  for (const Counted& c : counted) {
    if (below > 0 && below * n >= static_cast<int64_t>(cuts.size() + 1) * total &&
        static_cast<int64_t>(cuts.size()) + 1 < n)
      cuts.push_back(c.value);
    below += c.count;
  }
  return cuts;
}

}  // namespace

ColumnGroups::ColumnGroups(const ValueColumn& column, const torch::Tensor& values, const GroupOptions& options)
    : are_labels_(!column.is_number()) {
  if (are_labels_) {
    names_ = column.labels.names();
    return;
  }
  const auto all = values.contiguous();
  std::vector<double> present;
  for (int64_t row = 0; row < all.numel(); ++row)
    if (const double value = all.const_data_ptr<double>()[row]; !std::isnan(value)) present.push_back(value);
  auto counted = count_values(present);
  own_ = recurring(counted, all.numel(), options);
  std::erase_if(counted, [&](const Counted& c) { return std::binary_search(own_.begin(), own_.end(), c.value); });
  if (!counted.empty()) {
    const auto left = options.most_groups - static_cast<int64_t>(own_.size());
    cuts_ = cut(counted, std::clamp<int64_t>(left, 1, kRestGroups));
    n_intervals_ = static_cast<int64_t>(cuts_.size()) + 1;
  }
  for (const double value : own_) names_.push_back(exact_text(column, value));
  for (int64_t k = 0; k < n_intervals_; ++k)
    names_.push_back(n_intervals_ == 1 ? own_.empty() ? "any" : "other"
                     : k == 0          ? "below " + exact_text(column, cuts_[0])
                     : k == n_intervals_ - 1
                         ? exact_text(column, cuts_.back()) + " and above"
                         : exact_text(column, cuts_[k - 1]) + " to " + exact_text(column, cuts_[k]));
  names_.emplace_back(kMissingGroup);
}

int64_t ColumnGroups::group_of(double value) const {
  if (std::isnan(value)) return size() - 1;
  const auto at = std::lower_bound(own_.begin(), own_.end(), value);
  if (at != own_.end() && *at == value) return at - own_.begin();
  const auto n_own = static_cast<int64_t>(own_.size());
  if (n_intervals_ == 0) return std::min<int64_t>(at - own_.begin(), n_own - 1);  // a value that was not counted
  return n_own + (std::upper_bound(cuts_.begin(), cuts_.end(), value) - cuts_.begin());
}

torch::Tensor ColumnGroups::of(const torch::Tensor& values) const {
  if (are_labels_) return values.to(torch::kInt64);
  const auto all = values.contiguous();
  auto groups = torch::empty({all.numel()}, torch::kInt64);
  for (int64_t row = 0; row < all.numel(); ++row)
    groups.data_ptr<int64_t>()[row] = group_of(all.const_data_ptr<double>()[row]);
  return groups;
}

namespace {

std::vector<ColumnGroups> group_all(const std::vector<ValueColumn>& columns, const torch::Tensor& values,
                                    const GroupOptions& options) {
  std::vector<ColumnGroups> groups;
  for (size_t c = 0; c < columns.size(); ++c)
    groups.emplace_back(columns[c], values.select(1, static_cast<int64_t>(c)), options);
  return groups;
}

Space space_of(const std::vector<ValueColumn>& columns, const std::vector<ColumnGroups>& groups) {
  std::vector<Variable> variables;
  for (size_t c = 0; c < columns.size(); ++c) {
    std::vector<std::string> names = groups[c].names();
    const bool are_different = std::set<std::string>(names.begin(), names.end()).size() == names.size();
    if (!are_different) names.clear();  // dates at times that their unit does not show
    variables.push_back({columns[c].name, groups[c].size(), std::move(names)});
  }
  return Space::table(std::move(variables));
}

}  // namespace

GroupedTable::GroupedTable(const std::vector<ValueColumn>& columns, const torch::Tensor& values,
                           const GroupOptions& options)
    : groups(group_all(columns, values, options)), space(space_of(columns, groups)) {}

torch::Tensor GroupedTable::labels(const torch::Tensor& values) const {
  std::vector<torch::Tensor> found;
  for (size_t c = 0; c < groups.size(); ++c) found.push_back(groups[c].of(values.select(1, static_cast<int64_t>(c))));
  return torch::stack(found, 1);
}

std::vector<double> sorted_known(const torch::Tensor& values) {
  std::vector<double> known;
  const auto all = values.contiguous();
  for (int64_t k = 0; k < all.numel(); ++k)
    if (const double value = all.const_data_ptr<double>()[k]; !std::isnan(value)) known.push_back(value);
  std::sort(known.begin(), known.end());
  return known;
}

}  // namespace segre
