#include <map>

#include "segre/core/error.h"
#include "segre/io/npy.h"
#include "segre/read/readers.h"
#include "segre/read/stray_values.h"

namespace segre {
namespace {

constexpr int64_t kValuesAtOnce = 1 << 22;  // counted at once: eight bytes each

// The first value marked by `is_bad`, as "value 7 at [3, 0, 7]".
std::string first_where(const torch::Tensor& values, const torch::Tensor& is_bad) {
  const auto bad = is_bad.view(-1).to(torch::kInt8).argmax().item<int64_t>();
  std::string place;
  int64_t rest = bad;
  for (int64_t axis = values.dim() - 1; axis >= 0; rest /= values.size(axis), --axis)
    place = concat(rest % values.size(axis), place.empty() ? "" : ", ", place);
  return concat("value ", values.view(-1)[bad].item<int64_t>(), " at [", place, "]");
}

// How often each value from 0 to `largest` occurs, without those that never do.
std::map<int64_t, int64_t> count_values(const torch::Tensor& values, int64_t largest) {
  auto counts = torch::zeros({largest + 1}, torch::kInt64);
  for (const auto& part : values.view(-1).split(kValuesAtOnce))
    counts += torch::bincount(part.masked_select(part >= 0).to(torch::kInt64), {}, largest + 1);
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
  fail_input(file, ": ", first_where(values, values == *stray), " ", describe_stray(counts, *stray),
             "; correct it, or say how many labels there are (labels=", largest + 1, ")");
}

}  // namespace

Dataset read_npy_labels(const SourceName& name, Strays strays) {
  return read_array(read_npy(name.target()), name, strays);
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
  const auto least = values.min().item<int64_t>();
  const auto largest = values.max().item<int64_t>();
  if (least < kUnknown)
    fail_input(file, ": ", first_where(values, values < kUnknown), ", ", expected, ", or -1 if unknown, was expected");
  if (largest < 0) fail_input(file, ": every value is -1, unknown; labels were expected");
  if (largest > largest_allowed)
    fail_input(file, ": ", first_where(values, values > largest_allowed), ", ", expected, " was expected");
  if (given == 0 && strays == Strays::refuse && largest > kWidestHonestGap) check_strays(file, values, largest);
  const Layout layout = values.dim() == 3 ? Layout::image : Layout::sequence;
  const Space space = Space::uniform(layout, values.sizes().slice(1).vec(), given > 0 ? given : largest + 1);
  ItemNumbers numbers;
  for (int64_t k = 0; k < values.size(0); ++k) numbers.add(k);
  const Unknowns unknowns = least < 0 ? Unknowns::allow : Unknowns::refuse;
  return {space, values.to(label_type(space, unknowns)).view({values.size(0), -1}), false,
          Origin::items(file, std::move(numbers)), unknowns};
}

}  // namespace segre
