#include "segre/io/png.h"
#include "segre/read/readers.h"
#include "tests/support/archives.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::omniglot_test {
namespace {

using test::grey_png;
using test::input_error;
using test::ScratchFolder;
using test::write_zip;

// Black ink in the left half of one drawing and nowhere in the other.
std::string half_inked() { return grey_png({0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1}, 4, 4, 1); }
std::string blank() { return grey_png(std::vector<int>(16, 1), 4, 4, 1); }

Dataset read(const ScratchFolder& folder, const std::string& options = "size=2") {
  return read_omniglot(parse_source_name("omniglot:" + (folder / "o.zip").string() + "?" + options));
}

torch::Tensor bytes(std::vector<int64_t> values, int64_t n) {
  return torch::tensor(values, torch::kInt64).to(torch::kUInt8).view({-1, n});
}

TEST(Omniglot, StrokesAreOneInTheOrderOfTheNames) {
  const ScratchFolder folder;
  write_zip(folder / "o.zip",
            {{"o/b.png", blank()}, {"o/a.png", half_inked()}, {"__MACOSX/o/c.png", "?"}, {"o/x", "?"}});
  const auto data = read(folder);
  EXPECT_EQ(data.space.item_shape(), (std::vector<int64_t>{2, 2}));
  EXPECT_TRUE(torch::equal(data.labels, bytes({1, 0, 1, 0, 0, 0, 0, 0}, 4)));
  EXPECT_TRUE(torch::equal(read(folder, "size=2&invert=1&limit=1").labels, bytes({0, 1, 0, 1}, 4)));
  EXPECT_TRUE(
      torch::equal(read(folder, "size=1&pad=1&limit=1&threshold=40").labels, bytes({0, 0, 0, 0, 1, 0, 0, 0, 0}, 9)));
  EXPECT_EQ(read(folder, "size=1&limit=1&threshold=50").labels.sum().item<int64_t>(), 0)
      << "half is not more than half";
}

TEST(Omniglot, DrawingsOfAnotherKindAndDamagedOnesAreNamed) {
  const ScratchFolder folder;
  const std::string file = (folder / "o.zip").string();
  write_zip(file, {{"a.png", encode_png_rgb({{1, 2, 3}}, 1, 1)}});
  EXPECT_EQ(input_error([&] { read(folder); }),
            file + ": entry a.png: is a colour picture, a black-and-white drawing was expected");
  write_zip(file, {{"a.png", "no picture"}});
  EXPECT_TRUE(test::contains(input_error([&] { read(folder); }), file + ": entry a.png"));
  write_zip(file, {{"a.txt", "text"}});
  EXPECT_EQ(input_error([&] { read(folder); }), file + ": has 1 files, but none ends in .png");
}

}  // namespace
}  // namespace segre::omniglot_test
