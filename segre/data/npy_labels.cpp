#include "segre/core/error.h"
#include "segre/data/readers.h"
#include "segre/io/npy.h"

namespace segre {
namespace {

// Where the first value is for which `is_bad`, as "[3, 0, 7]", and the value.
void refuse_where(const std::string& file, const torch::Tensor& values, const torch::Tensor& is_bad,
                  const std::string& expected) {
  const auto bad = is_bad.view(-1).to(torch::kInt8).argmax().item<int64_t>();
  std::string place;
  int64_t rest = bad;
  for (int64_t axis = values.dim() - 1; axis >= 0; rest /= values.size(axis), --axis)
    place = concat(rest % values.size(axis), place.empty() ? "" : ", ", place);
  fail_input(file, ": value ", values.view(-1)[bad].item<int64_t>(), " at [", place, "], ", expected, " was expected");
}

}  // namespace

Dataset read_npy_labels(const SourceName& name) {
  const std::string& file = name.target();
  const int64_t given = name.integer("labels", 0, {1, kMaxLabels});
  auto values = read_npy(file);
  if (values.dim() != 2 && values.dim() != 3)
    fail_input(file, ": an array of ", values.dim(),
               " axes, expected [items, length] for sequences or [items, height, width] for images");
  if (values.numel() == 0) fail_input(file, ": an array of shape ", values.sizes(), " holds no labels");
  values = values.slice(0, 0, std::min(values.size(0), name.limit())).contiguous();
  const int64_t largest_allowed = (given > 0 ? given : kMaxLabels) - 1;
  const std::string expected = concat("a label from 0 to ", largest_allowed, given > 0 ? " (labels=)" : "");
  const auto least = values.min().item<int64_t>();
  const auto largest = values.max().item<int64_t>();
  if (least < 0) refuse_where(file, values, values < 0, expected);
  if (largest > largest_allowed) refuse_where(file, values, values > largest_allowed, expected);
  const Layout layout = values.dim() == 3 ? Layout::image : Layout::sequence;
  const Space space = Space::uniform(layout, values.sizes().slice(1).vec(), given > 0 ? given : largest + 1);
  ItemNumbers numbers;
  for (int64_t k = 0; k < values.size(0); ++k) numbers.add(k);
  return {space, values.to(label_type(space)).view({values.size(0), -1}), false,
          Origin::items(file, std::move(numbers))};
}

}  // namespace segre
