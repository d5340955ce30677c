#include <algorithm>
#include <map>

#include "segre/core/error.h"
#include "segre/read/label_maps.h"
#include "segre/read/readers.h"
#include "segre/read/stray_values.h"

namespace segre {
namespace {

// How the options map the numbers stored in the files.
struct LabelRule {
  int64_t ignore = -1;             // the number that means "ignore"; -1: none
  std::map<int64_t, int64_t> map;  // from number to label; empty: the numbers are the labels
  int64_t n_labels = 0;            // without the ignore label; 0: as many as found
  int64_t unknown = -1;            // the number that means "unknown"; -1: none
  bool is_ignored(int64_t value) const { return value == ignore; }
  /// Whether a number stands for a label, one to be ignored or not.
  bool is_label(int64_t value) const { return value != unknown; }
};

LabelRule read_rule(const SourceName& name) {
  LabelRule rule;
  rule.ignore = name.integer("ignore", -1, {0, kPngValues - 1});
  rule.n_labels = name.integer("labels", 0, {1, kMaxLabels - 1});
  rule.unknown = name.integer("unknown", -1, {0, kPngValues - 1});
  if (rule.unknown >= 0 && rule.unknown == rule.ignore) name.fail_option("unknown", "another value than ignore=");
  for (const auto& [from, to] : name.pairs("map", {0, kPngValues - 2})) {
    if (!rule.map.emplace(from, to).second) name.fail_option("map", concat("one label for the value ", from));
    if (rule.n_labels > 0 && to >= rule.n_labels)
      name.fail_option("map", concat("labels below ", rule.n_labels, " (labels=)"));
  }
  return rule;
}

AllowedValues allowed_by(const LabelRule& rule) {
  AllowedValues values{std::vector<bool>(kPngValues), ""};
  for (int64_t v = 0; v < kPngValues; ++v)
    values.allowed[v] = rule.is_ignored(v) || !rule.is_label(v) ||
                        (!rule.map.empty()   ? rule.map.contains(v)
                         : rule.n_labels > 0 ? v < rule.n_labels
                                             : v < kPngValues - 1);
  if (!rule.map.empty()) {
    values.expected = "a value that map= has";
  } else {
    values.expected = concat("a label from 0 to ", (rule.n_labels > 0 ? rule.n_labels : kPngValues - 1) - 1);
  }
  if (rule.ignore >= 0) values.expected += concat(" or ", rule.ignore, " (ignore=)");
  if (rule.unknown >= 0) values.expected += concat(" or ", rule.unknown, " (unknown=)");
  return values;
}

// Refuses a number so rare and so far above all others that it must be a mistake, unless the options define labels.
void check_strays(const LabelRule& rule, const std::map<int64_t, StoredValue>& stored) {
  if (rule.n_labels > 0 || !rule.map.empty()) return;
  std::map<int64_t, int64_t> counts;
  for (const auto& [value, found] : stored)
    if (!rule.is_ignored(value) && rule.is_label(value)) counts.emplace(value, found.count);
  const auto stray = find_strays(counts);
  if (!stray) return;
  const StoredValue& found = stored.at(*stray);
  fail_input(found.file, ": row ", found.row, ", column ", found.column, ": value ", *stray, " ",
             describe_stray(counts, *stray), "; give it its own label (ignore=", *stray,
             "), map it to another (map=), or give the number of labels (labels=", counts.rbegin()->first + 1, ")");
}

int64_t count_labels(const LabelRule& rule, const std::map<int64_t, StoredValue>& stored) {
  if (rule.n_labels > 0) return rule.n_labels;
  int64_t largest = -1;
  for (const auto& [from, to] : rule.map) largest = std::max(largest, to);
  for (const auto& [value, found] : stored)
    if (rule.map.empty() && !rule.is_ignored(value) && rule.is_label(value)) largest = value;
  if (largest < 0) fail_input(stored.begin()->second.file, ": every pixel is unknown or ignored; labels were expected");
  return largest + 1;
}

// The label of each number; 0 for those that cannot occur.
std::vector<int32_t> place_values(const LabelRule& rule, int64_t n_labels) {
  std::vector<int32_t> place(kPngValues, 0);
  for (int64_t v = 0; rule.map.empty() && v < n_labels; ++v) place[v] = static_cast<int32_t>(v);
  for (const auto& [from, to] : rule.map) place[from] = static_cast<int32_t>(to);
  if (rule.ignore >= 0) place[rule.ignore] = static_cast<int32_t>(n_labels);
  if (rule.unknown >= 0) place[rule.unknown] = kUnknown;
  return place;
}

// Names if one is to be ignored; the palette's colours, each label in that of its smallest number.
LabelSet label_set(const LabelRule& rule, int64_t n_labels, const std::vector<int32_t>& place,
                   const std::vector<Rgb>& palette) {
  LabelSet set;
  if (rule.ignore >= 0) {
    for (int64_t j = 0; j < n_labels; ++j) set.names.push_back(std::to_string(j));
    set.names.emplace_back("ignore");
  }
  if (palette.empty()) return set;
  constexpr Rgb kNoColour{128, 128, 128};
  set.colours.assign(n_labels + (rule.ignore >= 0 ? 1 : 0), kNoColour);
  for (auto v = static_cast<int64_t>(palette.size()) - 1; v >= 0; --v) {
    const bool stands_for_label = rule.is_ignored(v) || (rule.map.empty() ? v < n_labels : rule.map.contains(v));
    if (stands_for_label && rule.is_label(v)) set.colours[place[v]] = palette[v];
  }
  return set;
}

}  // namespace

Dataset read_png_folder(const SourceName& name, Strays strays) {
  const LabelRule rule = read_rule(name);
  const bool mirror = name.flag("flip", false);
  const auto size = requested_size(name);
  const auto files = find_files(name.target(), ".png", name.limit());
  LabelMaps maps = read_label_maps(files, size, allowed_by(rule));
  if (strays == Strays::refuse) check_strays(rule, maps.stored);
  const int64_t n_labels = count_labels(rule, maps.stored);
  const auto place = place_values(rule, n_labels);
  maps.values.relabel(place);
  const Space space =
      Space::image(maps.size.height, maps.size.width, n_labels + (rule.ignore >= 0 ? 1 : 0),
                     label_set(rule, n_labels, place, maps.palette));
  const Unknowns unknowns = rule.unknown >= 0 ? Unknowns::allow : Unknowns::refuse;
  return {space, maps.values.take(space, unknowns), mirror, origin_of(files), unknowns};
}

}  // namespace segre
