#pragma once

#include <filesystem>
#include <vector>

#include "segre/io/png.h"
#include "segre/space/space.h"

namespace segre {

/// A colour picture.
struct Picture {
  int64_t height = 0;
  int64_t width = 0;
  std::vector<Rgb> pixels;  ///< [height * width], row by row
};

/// One colour per label of an image space: the space's own if it has any, white on black for two labels, else the
/// colours of Okabe and Ito, which are distinct to all kinds of colour vision, followed by others.
std::vector<Rgb> label_colours(const Space& space);

/// Label images [B, n] side by side, `columns` per row with a thin gap, each pixel enlarged so that the picture is as
/// wide as a page. With `frame_every` > 0, images 0, frame_every, 2 frame_every, ... get a red frame. InputError if the
/// space is not an image or the picture would be larger than kMaxPngPixels.
Picture draw_label_grid(const Space& space, const torch::Tensor& labels, int64_t columns, int64_t frame_every = 0);

/// draw_label_grid as the bytes of a PNG file.
std::string label_grid_png(const Space& space, const torch::Tensor& labels, int64_t columns);

/// Writes label_grid_png to a file, whole or not at all.
void write_label_grid(const std::filesystem::path& path, const Space& space, const torch::Tensor& labels,
                      int64_t columns);

/// Writes each label image [B, n] as a palette PNG, index = label: 000000.png and so on, counted from `first_number`,
/// into the existing `folder`. InputError if the space is not an image or has more than 256 labels.
void write_label_maps(const std::filesystem::path& folder, const Space& space, const torch::Tensor& labels,
                      int64_t first_number);

/// Images of numbers: values [B, n] as labels of a space with the same shape whose colours run from black over red and
/// yellow to white, from 0 to the largest value but the highest thousandth. For draw_label_grid.
struct HeatMap {
  Space space;
  torch::Tensor labels;  ///< [B, n] int64
};
HeatMap heat_map(const Space& space, const torch::Tensor& values);

/// The first images of numbers side by side, as the bytes of a PNG file.
std::string heat_grid_png(const Space& space, const torch::Tensor& values);

}  // namespace segre
