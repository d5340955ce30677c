#include "segre/report/picture.h"

#include <set>

#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::picture_test {
namespace {

constexpr Rgb kBlack{0, 0, 0};
constexpr Rgb kWhite{255, 255, 255};

Rgb pixel(const Picture& picture, int64_t y, int64_t x) { return picture.pixels[y * picture.width + x]; }

TEST(Picture, TwoLabelsAreWhiteOnBlackAndEnlarged) {
  const Space space = Space::image(1, 2, 2);
  const Picture picture = draw_label_grid(space, torch::tensor({{0, 1}}, torch::kInt64), 1);
  // 16 times, with a gap of 8 around.
  ASSERT_EQ(picture.height, 16 + 2 * 8);
  ASSERT_EQ(picture.width, 2 * 16 + 2 * 8);
  EXPECT_EQ(pixel(picture, 8, 8), kBlack);
  EXPECT_EQ(pixel(picture, 8 + 15, 8 + 15), kBlack);
  EXPECT_EQ(pixel(picture, 8, 8 + 16), kWhite);
  EXPECT_NE(pixel(picture, 0, 0), kBlack);
  EXPECT_NE(pixel(picture, 0, 0), kWhite);
}

TEST(Picture, ImagesFollowEachOtherRowByRowAndTheLastRowMayBeShort) {
  const Space space = Space::image(2, 100, 3);
  const auto labels = torch::tensor({{0}, {1}, {2}}, torch::kInt64).expand({3, 200}).contiguous();
  const Picture picture = draw_label_grid(space, labels, 2);
  const auto colours = label_colours(space);
  const int64_t scale = 1000 / (2 * 101);
  EXPECT_EQ(pixel(picture, 3, 3), colours[0]);
  EXPECT_EQ(pixel(picture, 3, 2 * 2 + 100 * scale + 3), colours[1]);
  EXPECT_EQ(pixel(picture, picture.height - 4, 3), colours[2]);
  EXPECT_EQ(pixel(picture, picture.height - 4, picture.width - 4), pixel(picture, 0, 0));
}

TEST(Picture, FramesGoAroundTheImagesAskedFor) {
  const Space space = Space::image(1, 1, 2);
  const auto labels = torch::zeros({4, 1}, torch::kInt64);
  const Picture plain = draw_label_grid(space, labels, 4);
  const Picture framed = draw_label_grid(space, labels, 4, 2);  // 16 times, gaps of 8
  for (int64_t y = 0; y < plain.height; ++y)
    for (int64_t x = 0; x < plain.width; ++x) {
      const bool image = pixel(plain, y, x) == kBlack;
      const int64_t place = x % 48;  // images 0 and 2 reach from 8 to 24 of it, their frames from 0 to 32
      if (image || place >= 32 || x >= 80) {
        EXPECT_EQ(pixel(framed, y, x), pixel(plain, y, x)) << y << ' ' << x;
      } else {
        EXPECT_EQ(pixel(framed, y, x), (Rgb{220, 30, 30})) << y << ' ' << x;
      }
    }
}

TEST(Picture, SmallImagesMakeAPictureAsWideAsAPage) {
  for (const int64_t side : {8, 28, 32, 64, 100}) {
    const Space space = Space::image(side, side, 2);
    const Picture picture = draw_label_grid(space, torch::zeros({16, side * side}, torch::kInt64), 8);
    EXPECT_GE(picture.width, 500) << side;
    EXPECT_LE(picture.width, 1100) << side;
  }
}

TEST(Picture, ColoursOfManyLabelsDiffer) {
  const auto colours = label_colours(Space::image(1, 1, 64));
  EXPECT_EQ(std::set<Rgb>(colours.begin(), colours.end()).size(), 64U);
}

TEST(Picture, TheSpacesOwnColoursAreUsed) {
  const std::vector<Rgb> own{{1, 2, 3}, {4, 5, 6}};
  EXPECT_EQ(label_colours(Space::image(1, 1, 2, {{}, own})), own);
}

TEST(Picture, LabelMapsAreReadBackAsLabels) {
  const test::ScratchFolder folder;
  const Space space = Space::image(2, 3, 9);
  const auto labels = torch::tensor({{0, 1, 2, 3, 4, 5}, {8, 7, 6, 5, 4, 3}}, torch::kInt64);
  write_label_maps(folder.path(), space, labels, 41);
  const PngImage second = read_png(folder / "000042.png");
  EXPECT_EQ(second.kind, PngImage::Kind::palette);
  EXPECT_EQ(second.values, (std::vector<uint16_t>{8, 7, 6, 5, 4, 3}));
  EXPECT_EQ(second.palette, label_colours(space));
  EXPECT_TRUE(std::filesystem::exists(folder / "000041.png"));
}

TEST(Picture, WhatCannotBeDrawnIsRefused) {
  const Space table = test::mixed_space();
  EXPECT_TRUE(test::contains(test::input_error([&] {
                               draw_label_grid(table, torch::zeros({1, 5}, torch::kInt64), 1);
                             }),
                             "only images can be drawn"));
  const Space image = Space::image(100, 100, 300);
  EXPECT_TRUE(test::contains(test::input_error([&] {
                               write_label_maps(".", image, torch::zeros({1, 10'000}, torch::kInt64), 0);
                             }),
                             "has at most 256 labels"));
  EXPECT_TRUE(test::contains(test::input_error([&] {
                               draw_label_grid(image, torch::full({1, 10'000}, 300, torch::kInt64), 1);
                             }),
                             "label 300"));
}

}  // namespace
}  // namespace segre::picture_test
