#include <algorithm>
#include <functional>
#include <limits>
#include <map>

#include "segre/core/error.h"
#include "segre/io/growing_buffer.h"
#include "segre/io/mapped_rows.h"
#include "segre/io/npy.h"
#include "segre/read/readers.h"
#include "segre/read/stray_values.h"

namespace segre {
namespace {

constexpr int64_t kValuesAtOnce = 1 << 22;  // counted at once: eight bytes each

// "[3, 0, 7]" for the value at this position of the array, counted through.
std::string place_of(const torch::Tensor& values, int64_t position) {
  std::string place;
  for (int64_t axis = values.dim() - 1; axis >= 0; position /= values.size(axis), --axis)
    place = concat(position % values.size(axis), place.empty() ? "" : ", ", place);
  return concat("[", place, "]");
}

// The first value that `is_bad` marks in a part of the array, as "value 7 at [3, 0, 7]".
std::string first_where(const torch::Tensor& values,
                        const std::function<torch::Tensor(const torch::Tensor& part)>& is_bad) {
  std::string found;
  for_each_part(values, [&](const torch::Tensor& part, int64_t first) {
    if (!found.empty()) return;
    const auto marks = is_bad(part).view(-1);
    if (!marks.any().item<bool>()) return;
    const auto bad = marks.to(torch::kInt8).argmax().item<int64_t>();
    found = concat("value ", part.view(-1)[bad].item<int64_t>(), " at ",
                   place_of(values, first * (values.numel() / values.size(0)) + bad));
  });
  return found;
}

// The least and the largest value.
std::pair<int64_t, int64_t> range_of(const torch::Tensor& values) {
  std::pair<int64_t, int64_t> range{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  for_each_part(values, [&](const torch::Tensor& part, int64_t) {
    range.first = std::min(range.first, part.min().item<int64_t>());
    range.second = std::max(range.second, part.max().item<int64_t>());
  });
  return range;
}

// How often each value from 0 to `largest` occurs, without those that never do.
std::map<int64_t, int64_t> count_values(const torch::Tensor& values, int64_t largest) {
  auto counts = torch::zeros({largest + 1}, torch::kInt64);
  for_each_part(values, [&](const torch::Tensor& rows, int64_t) {
    for (const auto& part : rows.view(-1).split(kValuesAtOnce))
      counts += torch::bincount(part.masked_select(part >= 0).to(torch::kInt64), {}, largest + 1);
  });
  std::map<int64_t, int64_t> found;
  const auto* count = counts.data_ptr<int64_t>();
  for (int64_t value = 0; value <= largest; ++value)
    if (count[value] > 0) found.emplace(value, count[value]);
  return found;
}

void check_strays(const std::string& file, const torch::Tensor& values, int64_t largest) {
  const auto counts = count_values(values, largest);
  const auto stray = find_strays(counts);
  if (!stray) return;
  const auto is_stray = [&](const torch::Tensor& part) { return part == *stray; };
  fail_input(file, ": ", first_where(values, is_stray), " ", describe_stray(counts, *stray),
             "; correct it, or give the number of labels (labels=", largest + 1, ")");
}

}  // namespace

Dataset read_npy_labels(const SourceName& name, Strays strays) {
  return read_array(map_npy(name.target()), name, strays);
}

Dataset read_array(torch::Tensor values, const SourceName& name, Strays strays) {
  const std::string& file = name.target();
  const int64_t given = name.integer("labels", 0, {1, kMaxLabels});
  if (!c10::isIntegralType(values.scalar_type(), /*includeBool=*/true))
    fail_input(file, ": holds values of type ", c10::toString(values.scalar_type()), ", integers were expected");
  if (values.dim() != 2 && values.dim() != 3)
    fail_input(file, ": the array has ", values.dim(),
               " axes, expected [items, length] for sequences or [items, height, width] for images");
  if (values.numel() == 0) fail_input(file, ": an array of shape ", values.sizes(), " holds no labels");
  values = values.slice(0, 0, std::min(values.size(0), name.limit())).contiguous();
  const int64_t largest_allowed = (given > 0 ? given : kMaxLabels) - 1;
  const std::string expected = concat("a label from 0 to ", largest_allowed, given > 0 ? " (labels=)" : "");
  const auto [least, largest] = range_of(values);
  const auto is_below = [](const torch::Tensor& part) { return part < kUnknown; };
  const auto is_above = [&](const torch::Tensor& part) { return part > largest_allowed; };
  if (least < kUnknown)
    fail_input(file, ": ", first_where(values, is_below), ", ", expected, ", or -1 if unknown, was expected");
  if (largest < 0) fail_input(file, ": every value is -1, unknown; labels were expected");
  if (largest > largest_allowed) fail_input(file, ": ", first_where(values, is_above), ", ", expected, " was expected");
  if (given == 0 && strays == Strays::refuse && largest > kWidestHonestGap) check_strays(file, values, largest);
  const int64_t n_labels = given > 0 ? given : largest + 1;
  const Space space = values.dim() == 3 ? Space::image(values.size(1), values.size(2), n_labels)
                                        : Space::sequence(values.size(1), n_labels);
  const Unknowns unknowns = least < 0 ? Unknowns::allow : Unknowns::refuse;
  return {space, converted(values, label_type(space, unknowns)).view({values.size(0), -1}), false,
          Origin::items(file, ItemNumbers::up_to(values.size(0))), unknowns};
}

}  // namespace segre
