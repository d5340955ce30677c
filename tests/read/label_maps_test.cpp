#include "segre/io/png.h"
#include "segre/read/cityscapes.h"
#include "segre/read/readers.h"
#include "segre/read/resize.h"
#include "segre/sources/relabel.h"
#include "tests/support/archives.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::label_maps_test {
namespace {

using test::grey_png;
using test::input_error;
using test::ScratchFolder;
using test::write_text;

torch::Tensor bytes(std::vector<int64_t> values, int64_t n) {
  return torch::tensor(values, torch::kInt64).to(torch::kUInt8).view({-1, n});
}

Dataset read(const ScratchFolder& folder, const std::string& options = "") {
  return read_png_folder(parse_source_name("png:" + folder.path().string() + (options.empty() ? "" : "?" + options)));
}

// The message without the path of the named file.
std::string error_of(const ScratchFolder& folder, const std::string& file, const std::string& options = "") {
  return test::after((folder / file).string(), input_error([&] { read(folder, options); }));
}

TEST(Resize, NearestTakesThePixelUnderItsCentre) {
  EXPECT_EQ(nearest_pixels(4, 2), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(nearest_pixels(2, 4), (std::vector<int64_t>{0, 0, 1, 1}));
  EXPECT_EQ(nearest_pixels(5, 3), (std::vector<int64_t>{0, 2, 4}));
  EXPECT_EQ(nearest_pixels(3, 3), (std::vector<int64_t>{0, 1, 2}));
}

TEST(Resize, AreasAreAveragedWithTheirParts) {
  // 3 pixels into 2: each covers one and a half.
  const auto half = average_area({3, 6, 9}, {1, 3}, {1, 2});
  EXPECT_FLOAT_EQ(half[0], (3 + 0.5 * 6) / 1.5);
  EXPECT_FLOAT_EQ(half[1], (0.5 * 6 + 9) / 1.5);
  EXPECT_EQ(average_area({1, 2, 3, 4}, {2, 2}, {1, 1}), std::vector<float>{2.5});
  EXPECT_EQ(average_area({1, 2}, {1, 2}, {2, 4}), (std::vector<float>{1, 1, 2, 2, 1, 1, 2, 2}));
}

TEST(PngFolder, GreyValuesAreLabelsInTheOrderOfThePaths) {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder / "b");
  write_text(folder / "c.png", grey_png({4, 4}, 1, 2));
  write_text(folder / "b/z.png", grey_png({1, 0}, 1, 2, 1));
  write_text(folder / "a.png", grey_png({0, 2}, 1, 2));
  write_text(folder / "readme.txt", "no picture");
  const auto data = read(folder);
  EXPECT_EQ(data.space.max_labels(), 5);
  EXPECT_EQ(data.space.item_shape(), (std::vector<int64_t>{1, 2}));
  EXPECT_TRUE(torch::equal(data.labels, bytes({0, 2, 1, 0, 4, 4}, 2)));
  EXPECT_FALSE(data.mirror);
  EXPECT_TRUE(read(folder, "flip=1").mirror);
  EXPECT_EQ(read(folder, "limit=2").labels.size(0), 2);
}

TEST(PngFolder, PaletteIndicesAreLabelsAndKeepTheirColours) {
  const ScratchFolder folder;
  const std::vector<Rgb> palette{{1, 2, 3}, {9, 9, 9}, {7, 8, 9}};
  write_text(folder / "a.png", encode_png_palette({2, 0, 1, 0}, 2, 2, palette));
  const auto data = read(folder, "labels=4");
  EXPECT_TRUE(torch::equal(data.labels, bytes({2, 0, 1, 0}, 4)));
  const auto& colours = data.space.label_set().colours;
  ASSERT_EQ(colours.size(), 4U);
  EXPECT_EQ(colours[2], palette[2]);
  EXPECT_EQ(colours[3], (Rgb{128, 128, 128})) << "a label the palette does not have";
  EXPECT_EQ(read(folder, "map=0:1,1:0,2:1").space.label_set().colours, (std::vector<Rgb>{palette[1], palette[0]}));
}

TEST(PngFolder, TheIgnoreValueIsTheLastLabel) {
  const ScratchFolder folder;
  write_text(folder / "a.png", grey_png({255, 0, 1, 2}, 2, 2));
  const auto data = read(folder, "ignore=255");
  EXPECT_TRUE(torch::equal(data.labels, bytes({3, 0, 1, 2}, 4)));
  EXPECT_EQ(data.space.max_labels(), 4);
  EXPECT_EQ(data.space.label_name(0, 3), "ignore");
  EXPECT_EQ(data.space.label_name(0, 2), "2");
  EXPECT_EQ(read(folder, "ignore=7&labels=256").space.max_labels(), 257) << "kept where no pixel has it";
}

TEST(PngFolder, AMapNumbersValuesAnew) {
  const ScratchFolder folder;
  write_text(folder / "a.png", grey_png({0, 1, 2, 9}, 2, 2));
  EXPECT_TRUE(torch::equal(read(folder, "map=0:0,1:0,2:1,9:3").labels, bytes({0, 0, 1, 3}, 4)));
  EXPECT_TRUE(torch::equal(read(folder, "map=0:0,1:0,2:1&ignore=9").labels, bytes({0, 0, 1, 2}, 4)));
  EXPECT_EQ(read(folder, "map=0:300,1:0,2:1,9:3").labels[0][0].item<int64_t>(), 300);
  EXPECT_EQ(error_of(folder, "a.png", "map=0:0,1:0,2:1"),
            ": row 1, column 1: value 9, a value that map= has was expected");
}

TEST(PngFolder, SixteenBitsHoldManyLabels) {
  const ScratchFolder folder;
  write_text(folder / "a.png", grey_png({0, 65534}, 1, 2, 16));
  const auto data = read(folder);
  EXPECT_EQ(data.space.max_labels(), 65535);
  EXPECT_EQ(data.labels.scalar_type(), torch::kInt32);
  EXPECT_EQ(data.labels[0][1].item<int64_t>(), 65534);
}

TEST(PngFolder, AStrayValueIsNamedWithItsPlaceAndTheWaysOut) {
  const ScratchFolder folder;
  std::vector<int> values(64);
  for (int k = 0; k < 64; ++k) values[k] = k % 5;
  write_text(folder / "a.png", grey_png(values, 8, 8));
  values[19] = 200;
  write_text(folder / "b.png", grey_png(values, 8, 8));
  EXPECT_EQ(error_of(folder, "b.png"),
            ": row 2, column 3: value 200 occurs once in 128 values and would make 201 labels, of which 195 never "
            "occur; give it its own label (ignore=200), map it to another (map=), or give the number of labels "
            "(labels=201)");
  EXPECT_EQ(read(folder, "ignore=200").space.max_labels(), 6);
  EXPECT_EQ(read(folder, "labels=201").space.max_labels(), 201);
  EXPECT_EQ(read(folder, "map=0:0,1:1,2:2,3:3,4:4,200:0").space.max_labels(), 5);
  EXPECT_EQ(read(folder, "limit=1").space.max_labels(), 5);
  EXPECT_EQ(error_of(folder, "b.png", "height=2&width=2").substr(0, 17), ": row 2, column 3") << "as the file has it";
}

TEST(PngFolder, ForAModelAStrayValueIsJudgedByItsLabels) {
  const ScratchFolder folder;
  std::vector<int> values(64);
  values[7] = 200;
  write_text(folder / "a.png", grey_png(values, 8, 8));
  const auto name = "png:" + folder.path().string();
  const auto source = open_source_for(Space::image(8, 8, 201), name, "--data x");
  EXPECT_EQ(source->rows(0, 1)[0][7].item<int64_t>(), 200);
  EXPECT_TRUE(test::contains(input_error([&] {
                               open_source_for(Space::image(8, 8, 5), name, "--data x");
                             }),
                             "a.png: row 0, column 7: label '200', which training never saw; it has 0 to 4"));
}

TEST(PngFolder, ImagesOfAnotherSizeNeedASize) {
  const ScratchFolder folder;
  write_text(folder / "a.png", grey_png({0, 1, 2, 3}, 2, 2));
  write_text(folder / "b.png", grey_png({0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 5}, 4, 4));
  EXPECT_EQ(error_of(folder, "b.png"),
            concat(": is 4x4, but ", (folder / "a.png").string(), " is 2x2; give height= and width= to resize all"));
  const auto data = read(folder, "height=2&width=2");
  EXPECT_TRUE(torch::equal(data.labels, bytes({0, 1, 2, 3, 1, 1, 1, 5}, 4)));
}

TEST(PngFolder, ColoursAreRefusedWithAdvice) {
  const ScratchFolder folder;
  write_text(folder / "a.png", encode_png_rgb({{1, 2, 3}}, 1, 1));
  EXPECT_EQ(error_of(folder, "a.png"),
            ": stores colours, a label map was expected: palette indices or grey values, one number per pixel; convert "
            "its colours to label numbers first");
}

TEST(PngFolder, LabelsAboveTheirNumberAreNamedWithTheirPlace) {
  const ScratchFolder folder;
  for (const char* name : {"a.png", "b.png", "c.png"}) write_text(folder / name, grey_png({0, 1, 1, 0}, 2, 2));
  write_text(folder / "b.png", grey_png({0, 1, 7, 0}, 2, 2));
  write_text(folder / "c.png", grey_png({0, 9, 7, 0}, 2, 2));
  EXPECT_EQ(error_of(folder, "b.png", "labels=2&ignore=255"),
            ": row 1, column 0: value 7, a label from 0 to 1 or 255 (ignore=) was expected");
}

TEST(PngFolder, FoldersWithoutPicturesAndDamagedFilesAreNamed) {
  const ScratchFolder folder;
  EXPECT_EQ(input_error([&] { read(folder); }), folder.path().string() + ": has no files whose names end in .png");
  EXPECT_EQ(input_error([] { read_png_folder(parse_source_name("png:/nowhere")); }),
            "/nowhere: cannot be read (No such file or directory), a folder was expected");
  write_text(folder / "a.png", grey_png({0, 1}, 1, 2).substr(0, 50));
  EXPECT_NE(error_of(folder, "a.png"), "");
}

TEST(PngFolder, AMapThatContradictsItselfIsRefused) {
  const ScratchFolder folder;
  EXPECT_TRUE(test::contains(input_error([&] { read(folder, "map=0:1,0:2"); }), "one label for the value 0"));
  EXPECT_TRUE(test::contains(input_error([&] { read(folder, "map=0:1,1:2&labels=2"); }), "labels below 2 (labels=)"));
}

TEST(Cityscapes, TheOfficialTableHasItsCategories) {
  const auto names = cityscapes_categories().names;
  const auto category = [&](int64_t id) { return names[cityscapes_category(id)]; };
  EXPECT_EQ(category(0), "void");
  EXPECT_EQ(category(6), "void");           // ground
  EXPECT_EQ(category(7), "flat");           // road
  EXPECT_EQ(category(10), "flat");          // rail track
  EXPECT_EQ(category(11), "construction");  // building
  EXPECT_EQ(category(16), "construction");  // tunnel
  EXPECT_EQ(category(17), "object");        // pole
  EXPECT_EQ(category(20), "object");        // traffic sign
  EXPECT_EQ(category(21), "nature");        // vegetation
  EXPECT_EQ(category(22), "nature");        // terrain
  EXPECT_EQ(category(23), "sky");
  EXPECT_EQ(category(24), "human");     // person
  EXPECT_EQ(category(25), "human");     // rider
  EXPECT_EQ(category(26), "vehicle");   // car
  EXPECT_EQ(category(33), "vehicle");   // bicycle
  EXPECT_EQ(category(255), "vehicle");  // license plate
  EXPECT_EQ(cityscapes_category(34), -1);
}

TEST(Cityscapes, TheFolderIsReadAsItIsLaidOut) {
  const ScratchFolder folder;
  for (const char* city : {"gtFine/train/ulm", "gtFine/train/aachen", "gtFine/val/bonn"})
    std::filesystem::create_directories(folder / city);
  write_text(folder / "gtFine/train/ulm/ulm_0_gtFine_labelIds.png", grey_png({7, 7, 26, 26}, 1, 4));
  write_text(folder / "gtFine/train/ulm/ulm_0_gtFine_instanceIds.png", "not read");
  write_text(folder / "gtFine/train/aachen/aachen_0_gtFine_labelIds.png", grey_png({23, 23, 0, 33}, 1, 4));
  write_text(folder / "gtFine/val/bonn/bonn_0_gtFine_labelIds.png", grey_png({34, 0, 0, 0}, 1, 4));
  const std::string source = "cityscapes:" + folder.path().string();
  const auto data = read_cityscapes(parse_source_name(source + "?height=1&width=2&flip=1"));
  EXPECT_TRUE(torch::equal(data.labels, bytes({5, 7, 1, 7}, 2))) << data.labels;
  EXPECT_EQ(data.space.max_labels(), 8);
  EXPECT_EQ(data.space.label_name(0, 5), "sky");
  EXPECT_TRUE(data.mirror);
  EXPECT_EQ(read_cityscapes(parse_source_name(source)).space.item_shape(), (std::vector<int64_t>{128, 256}));
  EXPECT_EQ(input_error([&] { read_cityscapes(parse_source_name(source + "?split=val")); }),
            (folder / "gtFine/val/bonn/bonn_0_gtFine_labelIds.png").string() +
                ": row 0, column 0: value 34, a Cityscapes label id from 0 to 33 was expected");
  EXPECT_NE(input_error([&] { read_cityscapes(parse_source_name(source + "?split=test")); }), "");
}

}  // namespace
}  // namespace segre::label_maps_test
