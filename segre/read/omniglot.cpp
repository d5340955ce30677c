#include <algorithm>

#include "segre/core/error.h"
#include "segre/io/png.h"
#include "segre/io/zip.h"
#include "segre/read/binary_image.h"
#include "segre/read/readers.h"

namespace segre {
namespace {

// The drawings, sorted by name: the order in an archive is arbitrary.
std::vector<ZipReader::Entry> drawings_of(const ZipReader& zip, const std::string& file) {
  std::vector<ZipReader::Entry> drawings;
  for (const auto& entry : zip.entries())
    if (entry.name.ends_with(".png") && !entry.name.starts_with("__MACOSX/")) drawings.push_back(entry);
  if (drawings.empty()) fail_input(file, ": has ", zip.entries().size(), " files, but none ends in .png");
  std::sort(drawings.begin(), drawings.end(), [](const auto& x, const auto& y) { return x.name < y.name; });
  return drawings;
}

// How much of each pixel is ink, 0 to 1.
std::vector<float> ink_of(const PngImage& image, const std::string& place, bool white_ink) {
  if (image.kind != PngImage::Kind::grey)
    fail_input(place, ": is a ", image.kind == PngImage::Kind::palette ? "palette" : "colour",
               " picture, a black-and-white drawing was expected");
  const auto white = static_cast<float>((1 << image.bits) - 1);
  std::vector<float> ink(image.values.size());
  std::transform(image.values.begin(), image.values.end(), ink.begin(), [&](uint16_t value) {
    const float lightness = static_cast<float>(value) / white;
    return white_ink ? lightness : 1.0F - lightness;
  });
  return ink;
}

}  // namespace

Dataset read_omniglot(const SourceName& name) {
  const int64_t size = name.integer("size", 28, {1, kMaxExtent});
  constexpr float kPercent = 0.01F;
  const BinaryForm form{{size, size},
                        kPercent * static_cast<float>(name.integer("threshold", 50, {0, 99})),
                        name.integer("pad", 0, {0, 1024})};
  form.require_memory_for_one();
  const bool white_ink = name.flag("invert", false);
  const ZipReader zip(name.target());
  auto drawings = drawings_of(zip, name.target());
  drawings.resize(std::min(static_cast<int64_t>(drawings.size()), name.limit()));
  LabelStore store;
  std::vector<std::string> places;
  for (const auto& entry : drawings) {
    const PngImage image = parse_png(zip.read(entry), zip.place(entry));
    add_binary_image(store, form, ink_of(image, zip.place(entry), white_ink), {image.height, image.width});
    places.push_back(zip.place(entry));
  }
  const Space space = form.space();
  return {space, store.take(space), false, Origin::files(std::move(places))};
}

}  // namespace segre
