#include "segre/report/picture.h"

#include <algorithm>
#include <cmath>

#include "segre/core/error.h"
#include "segre/io/files.h"

namespace segre {
namespace {

constexpr int64_t kPageWidth = 1000;     // small images are enlarged up to this
constexpr int64_t kMostEnlarged = 16;    // a single tiny image need not fill the page
constexpr Rgb kGap{190, 190, 190};       // between images: no label's colour
constexpr Rgb kFrame{220, 30, 30};       // around highlighted images
constexpr int64_t kMostMapLabels = 256;  // colours in the palette of a PNG

// Okabe and Ito, Color universal design (2008), darkest first: label 0 is usually the background.
constexpr std::array<Rgb, 8> kOkabeIto{{{0, 0, 0},
                                        {230, 159, 0},
                                        {86, 180, 233},
                                        {0, 158, 115},
                                        {240, 228, 66},
                                        {0, 114, 178},
                                        {213, 94, 0},
                                        {204, 121, 167}}};

void check_image(const Space& space) {
  if (!space.is(PartKind::image)) fail_input("only images can be drawn, this is a ", space.describe());
}

// Colours beyond the named ones: hues a golden angle apart, in three steps of lightness.
Rgb extra_colour(int64_t label) {
  const double turn = 0.381966 * static_cast<double>(label);
  const double hue = 6.0 * (turn - std::floor(turn));
  const double value = 235.0 - 55.0 * static_cast<double>(label % 3);
  const auto channel = [&](double shift) {
    const double place = std::fmod(hue + shift, 6.0);
    const double level = std::clamp(std::min(place, 4.0 - place), 0.0, 1.0);
    return static_cast<uint8_t>(value * (1.0 - 0.8 * level));
  };
  return {channel(5.0), channel(3.0), channel(1.0)};
}

torch::Tensor on_cpu(const Space& space, const torch::Tensor& labels) {
  auto here = labels.to(torch::kCPU, torch::kInt64).contiguous();
  check_labels(space, here);
  return here;
}

// Copies one label image into the picture, with its corner at (top, left).
void paint(Picture& picture, const int64_t* labels, const Space& space, const std::vector<Rgb>& colours, int64_t top,
           int64_t left, int64_t scale) {
  const Part& image = *space.image_part();
  const int64_t height = image.height() * scale;
  const int64_t width = image.width() * scale;
  for (int64_t y = 0; y < height; ++y) {
    Rgb* out = picture.pixels.data() + (top + y) * picture.width + left;
    const int64_t* row = labels + (y / scale) * image.width();
    for (int64_t x = 0; x < width; ++x) out[x] = colours[static_cast<size_t>(row[x / scale])];
  }
}

void fill(Picture& picture, const Rgb& colour, int64_t top, int64_t left, int64_t height, int64_t width) {
  for (int64_t y = top; y < top + height; ++y)
    std::fill_n(picture.pixels.data() + y * picture.width + left, width, colour);
}

constexpr int64_t kLevels = 64;
constexpr int64_t kMostImages = 256;
constexpr double kHighest = 0.999;  // quantile of the values that is white

std::vector<Rgb> heat_colours() {
  std::vector<Rgb> colours;
  for (int64_t k = 0; k < kLevels; ++k) {
    const double x = 3.0 * static_cast<double>(k) / static_cast<double>(kLevels - 1);
    const auto channel = [x](double from) { return static_cast<uint8_t>(255.0 * std::clamp(x - from, 0.0, 1.0)); };
    colours.push_back({channel(0.0), channel(1.0), channel(2.0)});
  }
  return colours;
}

}  // namespace

std::vector<Rgb> label_colours(const Space& space) {
  if (!space.label_set().colours.empty()) return space.label_set().colours;
  if (space.max_labels() == 2) return {Rgb{0, 0, 0}, Rgb{255, 255, 255}};
  std::vector<Rgb> colours;
  for (int64_t label = 0; label < space.max_labels(); ++label)
    colours.push_back(label < static_cast<int64_t>(kOkabeIto.size()) ? kOkabeIto[static_cast<size_t>(label)]
                                                                     : extra_colour(label));
  return colours;
}

Picture draw_label_grid(const Space& space, const torch::Tensor& labels, int64_t columns, int64_t frame_every) {
  check_image(space);
  const auto here = on_cpu(space, labels);
  const int64_t count = here.size(0);
  if (count < 1 || columns < 1) fail_input("a picture needs at least one image and one column");
  columns = std::min(columns, count);
  const int64_t rows = (count + columns - 1) / columns;
  const int64_t height = space.image_part()->height();
  const int64_t width = space.image_part()->width();
  const int64_t scale = std::clamp<int64_t>(kPageWidth / (columns * (width + 1)), 1, kMostEnlarged);
  const int64_t gap = std::max<int64_t>(2, scale / 2);
  Picture picture;
  picture.height = rows * (height * scale + gap) + gap;
  picture.width = columns * (width * scale + gap) + gap;
  if (picture.height > kMaxPngPixels / picture.width)
    fail_input("a picture of ", count, " images of ", height, "x", width, " would have ", picture.height, "x",
               picture.width, " pixels, expected at most ", kMaxPngPixels, "; write fewer, or a folder of images");
  picture.pixels.assign(static_cast<size_t>(picture.height * picture.width), kGap);
  const auto colours = label_colours(space);
  for (int64_t item = 0; item < count; ++item) {
    const int64_t top = gap + (item / columns) * (height * scale + gap);
    const int64_t left = gap + (item % columns) * (width * scale + gap);
    if (frame_every > 0 && item % frame_every == 0)
      fill(picture, kFrame, top - gap, left - gap, height * scale + 2 * gap, width * scale + 2 * gap);
    paint(picture, here.data_ptr<int64_t>() + item * space.n_variables(), space, colours, top, left, scale);
  }
  return picture;
}

std::string label_grid_png(const Space& space, const torch::Tensor& labels, int64_t columns) {
  const Picture picture = draw_label_grid(space, labels, columns);
  return encode_png_rgb(picture.pixels, picture.height, picture.width);
}

void write_label_grid(const std::filesystem::path& path, const Space& space, const torch::Tensor& labels,
                      int64_t columns) {
  const std::string bytes = label_grid_png(space, labels, columns);
  write_file_whole(path, [&](std::ostream& out) { out << bytes; });
}

void write_label_maps(const std::filesystem::path& folder, const Space& space, const torch::Tensor& labels,
                      int64_t first_number) {
  check_image(space);
  if (space.max_labels() > kMostMapLabels)
    fail_input("a PNG label map has at most ", kMostMapLabels, " labels, this is an ", space.describe(), "; use .npy");
  const auto here = on_cpu(space, labels);
  const auto colours = label_colours(space);
  const Part& image = *space.image_part();
  std::vector<uint8_t> values(static_cast<size_t>(space.n_variables()));
  for (int64_t item = 0; item < here.size(0); ++item) {
    const auto* row = here.data_ptr<int64_t>() + item * space.n_variables();
    std::transform(row, row + space.n_variables(), values.begin(), [](int64_t v) { return static_cast<uint8_t>(v); });
    const std::string number = std::to_string(first_number + item);
    const std::string name = std::string(number.size() < 6 ? 6 - number.size() : 0, '0') + number + ".png";
    const std::string bytes = encode_png_palette(values, image.height(), image.width(), colours);
    write_file_whole(folder / name, [&](std::ostream& out) { out << bytes; });
  }
}

HeatMap heat_map(const Space& space, const torch::Tensor& values) {
  const auto here = values.to(torch::kCPU, torch::kFloat64).clamp_min(0.0);
  const auto sorted = std::get<0>(here.flatten().sort());
  const auto last = static_cast<int64_t>(kHighest * static_cast<double>(sorted.numel() - 1));
  const double white = std::max(1e-12, sorted[last].item<double>());
  const auto level = (here * (static_cast<double>(kLevels) / white)).clamp_max(kLevels - 1).to(torch::kInt64);
  const Part& image = *space.image_part();
  return {Space::image(image.height(), image.width(), kLevels, {.names = {}, .colours = heat_colours()}), level};
}

std::string heat_grid_png(const Space& space, const torch::Tensor& values) {
  const HeatMap map = heat_map(space, values.slice(0, 0, kMostImages));
  const auto columns = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(map.labels.size(0)))));
  return label_grid_png(map.space, map.labels, columns);
}

}  // namespace segre
