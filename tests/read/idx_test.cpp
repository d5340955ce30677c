#include "segre/read/readers.h"
#include "tests/support/archives.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::idx_test {
namespace {

using test::gzip_bytes;
using test::idx_images;
using test::idx_labels;
using test::input_error;
using test::ScratchFolder;
using test::write_text;

// Two images of 2 x 3, their bytes around the threshold.
const std::string kBody("\x00\x7f\x80\xff\x01\x00\xff\xff\x00\x00\x00\xc8", 12);

// A folder with the images and their classes, named as MNIST's are.
struct Mnist {
  ScratchFolder folder;
  std::string file = (folder / "t-images-idx3-ubyte").string();
  explicit Mnist(const std::string& bytes = idx_images(2, 2, 3, kBody)) {
    write_text(file, bytes);
    write_text(folder / "t-labels-idx1-ubyte", idx_labels(std::string("\x03\x08", 2)));
  }
  Dataset read(const std::string& options = "") const {
    return read_idx(parse_source_name("idx:" + file + (options.empty() ? "" : "?" + options)));
  }
  // The message without the file name.
  std::string error(const std::string& options = "") const {
    return test::after(file, input_error([&] { read(options); }));
  }
};

torch::Tensor labels(const std::vector<std::vector<int64_t>>& rows) {
  auto tensor = torch::empty({static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows[0].size())}, torch::kUInt8);
  for (size_t r = 0; r < rows.size(); ++r) tensor[r].copy_(torch::tensor(rows[r]));
  return tensor;
}

TEST(Idx, BytesAboveHalfBecomeOne) {
  const auto data = Mnist().read();
  EXPECT_EQ(data.space.item_shape(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(data.space.max_labels(), 2);
  EXPECT_TRUE(torch::equal(data.labels, labels({{0, 0, 1, 1, 0, 0}, {1, 1, 0, 0, 0, 1}})));
}

TEST(Idx, TheThresholdIsTheUsers) {
  EXPECT_TRUE(torch::equal(Mnist().read("threshold=0").labels, labels({{0, 1, 1, 1, 1, 0}, {1, 1, 0, 0, 0, 1}})));
  EXPECT_TRUE(torch::equal(Mnist().read("threshold=200").labels, labels({{0, 0, 0, 1, 0, 0}, {1, 1, 0, 0, 0, 0}})));
}

TEST(Idx, PaddingSurroundsTheImageWithZeros) {
  const auto data = Mnist().read("pad=1&limit=1");
  EXPECT_EQ(data.space.item_shape(), (std::vector<int64_t>{4, 5}));
  EXPECT_TRUE(torch::equal(data.labels, labels({{0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}})));
}

TEST(Idx, PackedFilesReadTheSame) {
  EXPECT_TRUE(torch::equal(Mnist(gzip_bytes(idx_images(2, 2, 3, kBody))).read().labels, Mnist().read().labels));
}

TEST(Idx, ClassesAreChosenByTheLabelsFileBeside) {
  const Mnist mnist;
  EXPECT_TRUE(torch::equal(mnist.read("classes=8").labels, labels({{1, 1, 0, 0, 0, 1}})));
  EXPECT_EQ(mnist.read("classes=8,3").labels.size(0), 2);
  write_text(mnist.folder / "other", gzip_bytes(idx_labels(std::string("\x05\x05", 2))));
  EXPECT_EQ(mnist.read("classes=5&labels=" + (mnist.folder / "other").string()).labels.size(0), 2);
}

TEST(Idx, ResizingAveragesAreas) {
  // Means of the whole images: 461 / 6 and 710 / 6.
  EXPECT_TRUE(torch::equal(Mnist().read("height=1&width=1&threshold=100").labels, labels({{0}, {1}})));
}

TEST(Idx, TruncatedBodyIsNamedInTheError) {
  const std::string expected = ": ends in image 2 of the 2 its header promises, after 5 of 6 bytes";
  EXPECT_EQ(Mnist(idx_images(2, 2, 3, kBody.substr(0, 11))).error(), expected);
  EXPECT_EQ(Mnist(gzip_bytes(idx_images(2, 2, 3, kBody.substr(0, 11)))).error(), expected);
  EXPECT_EQ(Mnist(idx_images(4'000'000'000, 2, 3, kBody)).error(),
            ": ends in image 3 of the 4000000000 its header promises, after 0 of 6 bytes");
}

TEST(Idx, BytesAfterTheLastImageAreRefused) {
  EXPECT_EQ(Mnist(idx_images(1, 2, 3, kBody)).error(), ": has data after the 1 images its header promises");
}

TEST(Idx, AWrongMagicNumberIsNamed) {
  EXPECT_EQ(Mnist(idx_labels("abc")).error(), ": magic number 2049 (labels), expected 2051 (IDX images of bytes)");
  EXPECT_EQ(Mnist("\x89PNG and more").error(), ": magic number 2303741511, expected 2051 (IDX images of bytes)");
  EXPECT_EQ(Mnist("abc").error(), ": ends in the header, the magic number was expected");
  EXPECT_EQ(Mnist(idx_images(1, 2, 3, "").substr(0, 14)).error(), ": ends in the header, the width was expected");
}

TEST(Idx, HeadersWithoutImagesOrWithImpossibleSizesAreRefused) {
  EXPECT_EQ(Mnist(idx_images(0, 2, 3, "")).error(), ": has no images");
  EXPECT_EQ(Mnist(idx_images(1, 0, 3, "")).error(), ": images of 0x3, 1 to 8192 pixels a side were expected");
  EXPECT_EQ(Mnist(idx_images(1, 2, 0xffffffff, "")).error(),
            ": images of 2x4294967295, 1 to 8192 pixels a side were expected");
}

TEST(Idx, AHeaderThatPromisesManyLargeImagesTakesNoMemoryForThem) {
  EXPECT_EQ(Mnist(idx_images(0xffffffff, 8192, 8192, "12345")).error(),
            ": ends in image 1 of the 4294967295 its header promises, after 5 of 67108864 bytes");
}

TEST(Idx, ClassesThatCannotBeHadAreRefused) {
  const Mnist mnist;
  EXPECT_TRUE(test::contains(input_error([&] { mnist.read("classes=7"); }), "option classes is '7', a class that"));
  EXPECT_TRUE(test::contains(input_error([&] { mnist.read("labels=x"); }), "labels= is for classes="));
  write_text(mnist.folder / "t-labels-idx1-ubyte", idx_labels("a"));
  EXPECT_TRUE(test::contains(input_error([&] { mnist.read("classes=7"); }), "has 1 labels for the 2 images of "));
  write_text(mnist.folder / "t-labels-idx1-ubyte", idx_labels("abc").substr(0, 10));
  EXPECT_NE(input_error([&] { mnist.read("classes=7"); }), "");
  std::filesystem::remove(mnist.folder / "t-labels-idx1-ubyte");
  EXPECT_EQ(mnist.error("classes=3"),
            ": classes= needs the labels, but t-labels-idx1-ubyte is not next to it; name their file with labels=");
}

TEST(Idx, OneOfHeightAndWidthIsNotEnough) {
  EXPECT_TRUE(test::contains(input_error([] { Mnist().read("height=3"); }), "height and width must be given together"));
}

}  // namespace
}  // namespace segre::idx_test
