#include "segre/generate/streets.h"

#include <limits>

#include "segre/core/error.h"
#include "segre/generate/street_scene.h"
#include "segre/read/cityscapes.h"

namespace segre {
namespace {

constexpr SourceName::Bounds kSizes{8, 4096};  // fewer than 8 rows show no street

}  // namespace

const std::vector<SourceOption>& streets_options() {
  static const std::vector<SourceOption> kOptions{{"height", "rows of pixels (64)"},
                                                  {"width", "columns of pixels (twice the height)"},
                                                  {"seed", "which endless sequence (0)"}};
  return kOptions;
}

std::unique_ptr<DataSource> make_streets_source(const SourceName& name) {
  name.require_known_options(streets_options());
  if (name.has_target()) fail_input("data source ", name.text(), ": streets is built in and reads no file");
  const int64_t height = name.integer("height", 64, kSizes);
  const int64_t width = name.integer("width", std::min(2 * height, kSizes.high), kSizes);
  const int64_t seed = name.integer("seed", 0, {0, std::numeric_limits<int64_t>::max()});
  const auto draw = [height, width](ItemRandom random, uint8_t* out) {
    LabelCanvas canvas(out, height, width);
    draw_street(canvas, random);
  };
  const LabelSet labels = cityscapes_categories();
  return make_generated_source(
      Space::image(height, width, static_cast<int64_t>(labels.names.size()), labels),
      Purpose::streets, static_cast<uint64_t>(seed), draw);
}

}  // namespace segre
