#include "segre/io/png.h"

#include <png.h>

#include "segre/io/files.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::png_test {
namespace {

using Kind = PngImage::Kind;

void append(png_structp png, png_bytep bytes, size_t count) {
  static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<const char*>(bytes), count);
}

// A PNG of any type, straight from libpng: `rows` is the packed image data. No errors are expected.
std::string make_png(int64_t height, int64_t width, int bits, int type, std::string rows, bool interlaced = false) {
  std::string bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &bytes, append, nullptr);
  png_set_IHDR(png, info, width, height, bits, type, interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_bytep> pointers(height);
  for (int64_t row = 0; row < height; ++row)
    pointers[row] = reinterpret_cast<png_bytep>(rows.data()) + row * static_cast<int64_t>(rows.size()) / height;
  png_write_info(png, info);
  png_write_image(png, pointers.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

const std::vector<Rgb> kPalette{{0, 0, 0}, {255, 0, 0}, {255, 0, 0}, {1, 2, 3}};

std::string small_palette_png() { return encode_png_palette({0, 1, 2, 3, 2, 1}, 2, 3, kPalette); }

TEST(Png, APaletteImageGivesItsIndicesThoughTwoHaveOneColour) {
  const PngImage image = parse_png(small_palette_png(), "x.png");
  EXPECT_EQ(image.kind, Kind::palette);
  EXPECT_EQ(image.height, 2);
  EXPECT_EQ(image.width, 3);
  EXPECT_EQ(image.values, (std::vector<uint16_t>{0, 1, 2, 3, 2, 1}));
  EXPECT_EQ(image.palette, kPalette);
}

TEST(Png, OneBitGreyIsZeroAndOne) {
  const PngImage image = parse_png(make_png(2, 10, 1, PNG_COLOR_TYPE_GRAY, std::string("\xa5\x40\x00\x80", 4)), "x");
  EXPECT_EQ(image.kind, Kind::grey);
  EXPECT_EQ(image.bits, 1);
  EXPECT_EQ(image.values, (std::vector<uint16_t>{1, 0, 1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0}));
}

TEST(Png, FourBitGreyIsNotScaled) {
  const PngImage image = parse_png(make_png(1, 3, 4, PNG_COLOR_TYPE_GRAY, "\x1f\x70"), "x");
  EXPECT_EQ(image.values, (std::vector<uint16_t>{1, 15, 7}));
}

TEST(Png, SixteenBitGreyKeepsBothBytes) {
  const PngImage image = parse_png(make_png(1, 2, 16, PNG_COLOR_TYPE_GRAY, std::string("\x01\x02\xff\x00", 4)), "x");
  EXPECT_EQ(image.bits, 16);
  EXPECT_EQ(image.values, (std::vector<uint16_t>{258, 65280}));
}

TEST(Png, AlphaBesideGreyIsDropped) {
  const PngImage image =
      parse_png(make_png(1, 2, 8, PNG_COLOR_TYPE_GRAY_ALPHA, std::string("\x07\x00\x09\xff", 4)), "x");
  EXPECT_EQ(image.kind, Kind::grey);
  EXPECT_EQ(image.values, (std::vector<uint16_t>{7, 9}));
}

TEST(Png, AnInterlacedImageIsTheSameImage) {
  std::string rows;
  for (int k = 0; k < 13 * 17; ++k) rows += static_cast<char>(k);
  const PngImage plain = parse_png(make_png(13, 17, 8, PNG_COLOR_TYPE_GRAY, rows), "x");
  const PngImage interlaced = parse_png(make_png(13, 17, 8, PNG_COLOR_TYPE_GRAY, rows, true), "x");
  EXPECT_EQ(plain.values, interlaced.values);
  EXPECT_EQ(plain.values[220], 220);
}

TEST(Png, AColourImageHasNoValues) {
  const std::vector<Rgb> pixels{{1, 2, 3}, {4, 5, 6}};
  const PngImage image = parse_png(encode_png_rgb(pixels, 1, 2), "x");
  EXPECT_EQ(image.kind, Kind::colour);
  EXPECT_EQ(image.width, 2);
  EXPECT_TRUE(image.values.empty());
}

TEST(Png, AnotherFormatIsRefused) {
  EXPECT_EQ(test::input_error([] { parse_png("GIF89a and more", "a.png"); }),
            "a.png: is not a PNG image (its first bytes belong to another format)");
  EXPECT_EQ(test::input_error([] { parse_png("", "a.png"); }), "a.png: is empty, a PNG image was expected");
}

TEST(Png, AFileCutAnywhereIsNamedInTheError) {
  const std::string bytes = small_palette_png();
  for (size_t length = 8; length < bytes.size(); ++length)
    EXPECT_EQ(test::input_error([&] { parse_png(bytes.substr(0, length), "a.png"); }),
              "a.png: damaged PNG image (the file ends too early)")
        << length;
}

TEST(Png, AFlippedBitInThePixelsIsFound) {
  std::string bytes = small_palette_png();
  const size_t at = bytes.find("IDAT") + 6;
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  EXPECT_TRUE(test::contains(test::input_error([&] { parse_png(bytes, "a.png"); }), "a.png: damaged PNG image ("));
}

// Writes a size into the header and fixes its checksum.
std::string with_size(std::string bytes, uint32_t width, uint32_t height) {
  const auto put = [&](size_t at, uint32_t value) {
    for (size_t k = 0; k < 4; ++k) bytes[at + k] = static_cast<char>(value >> (24 - 8 * k));
  };
  put(16, width);
  put(20, height);
  uint32_t sum = 0xffffffffU;
  for (size_t at = 12; at < 29; ++at) {
    sum ^= static_cast<uint8_t>(bytes[at]);
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0xedb88320U : 0U);
  }
  put(29, ~sum);
  return bytes;
}

TEST(Png, AHeaderThatPromisesTooMuchIsRefusedBeforeMemoryIsTaken) {
  EXPECT_EQ(test::input_error([] { parse_png(with_size(small_palette_png(), 900'000, 900'000), "a.png"); }),
            "a.png: an image of 900000x900000 pixels, at most 67108864 are read");
  EXPECT_TRUE(
      test::contains(test::input_error([] { parse_png(with_size(small_palette_png(), 8'000, 8'000), "a.png"); }),
                     "a.png: the header promises 8000x8000 pixels, which "));
}

TEST(Png, AMissingFileIsNamed) {
  EXPECT_TRUE(
      test::contains(test::input_error([] { read_png("/nowhere/a.png"); }), "/nowhere/a.png: cannot be opened"));
}

TEST(Png, AWrittenFileIsReadBack) {
  const test::ScratchFolder folder;
  const auto path = folder / "a.png";
  write_file_whole(path, [](std::ostream& out) { out << small_palette_png(); });
  EXPECT_EQ(read_png(path).values[3], 3);
}

TEST(Png, ALabelWithoutAColourIsNotWritten) {
  EXPECT_EQ(test::any_error([] {
              encode_png_palette({0, 4}, 1, 2, kPalette);
            }),
            "label 4 cannot be shown in a palette of 4 colours");
}

}  // namespace
}  // namespace segre::png_test
