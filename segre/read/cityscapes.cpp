#include "segre/read/cityscapes.h"

#include <array>

#include "segre/read/label_maps.h"
#include "segre/read/readers.h"

namespace segre {
namespace {

constexpr int64_t kLicensePlate = 255;
constexpr int64_t kDefaultHeight = 128;
constexpr int64_t kDefaultWidth = 256;

// catId by id in cityscapesScripts' labels.py.
constexpr std::array<int8_t, 34> kCategoryOfId = {
    0, 0, 0, 0, 0, 0, 0,     // void: unlabeled, ego vehicle, rectification border, out of roi, static, dynamic, ground
    1, 1, 1, 1,              // flat: road, sidewalk, parking, rail track
    2, 2, 2, 2, 2, 2,        // construction: building, wall, fence, guard rail, bridge, tunnel
    3, 3, 3, 3,              // object: pole, polegroup, traffic light, traffic sign
    4, 4,                    // nature: vegetation, terrain
    5,                       // sky
    6, 6,                    // human: person, rider
    7, 7, 7, 7, 7, 7, 7, 7,  // vehicle: car, truck, bus, caravan, trailer, train, motorcycle, bicycle
};

}  // namespace

LabelSet cityscapes_categories() {
  return {{"void", "flat", "construction", "object", "nature", "sky", "human", "vehicle"},
          {{0, 0, 0},
           {128, 64, 128},
           {70, 70, 70},
           {153, 153, 153},
           {107, 142, 35},
           {70, 130, 180},
           {220, 20, 60},
           {0, 0, 142}}};
}

int32_t cityscapes_category(int64_t label_id) {
  if (label_id == kLicensePlate) return 7;  // license plate: vehicle
  if (label_id < 0 || label_id >= static_cast<int64_t>(kCategoryOfId.size())) return -1;
  return kCategoryOfId[label_id];
}

std::vector<std::filesystem::path> cityscapes_files(const SourceName& name) {
  const std::string split = name.choice("split", "train", {"train", "val", "test"});
  return find_files(std::filesystem::path(name.target()) / "gtFine" / split, "_labelIds.png", name.limit());
}

ImageSize cityscapes_size(const SourceName& name) {
  return requested_size(name).value_or(ImageSize{kDefaultHeight, kDefaultWidth});
}

Dataset read_cityscapes(const SourceName& name) {
  const ImageSize size = cityscapes_size(name);
  const bool mirror = name.flag("flip", false);
  const auto files = cityscapes_files(name);

  AllowedValues values{std::vector<bool>(kPngValues), "a Cityscapes label id from 0 to 33"};
  std::vector<int32_t> place(kPngValues, 0);
  for (int64_t id = 0; id < kPngValues; ++id) {
    values.allowed[id] = cityscapes_category(id) >= 0;
    if (values.allowed[id]) place[id] = cityscapes_category(id);
  }
  LabelMaps maps = read_label_maps(files, size, values);
  maps.values.relabel(place);
  const Space space =
      Space::image(size.height, size.width, kCityscapesCategories, cityscapes_categories());
  return {space, maps.values.take(space), mirror, origin_of(files)};
}

}  // namespace segre
