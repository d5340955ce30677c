#include "segre/read/readers.h"
#include "tests/support/archives.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::npy_labels_test {
namespace {

using test::input_error;
using test::npy_bytes;
using test::ScratchFolder;
using test::write_text;

Dataset read(const std::string& bytes, const std::string& options = "") {
  const ScratchFolder folder;
  write_text(folder / "x.npy", bytes);
  return read_npy_labels(
      parse_source_name("npy:" + (folder / "x.npy").string() + (options.empty() ? "" : "?" + options)));
}

// The message without the file name.
std::string error_of(const std::string& bytes, const std::string& options = "") {
  const ScratchFolder folder;
  const auto file = (folder / "x.npy").string();
  write_text(file, bytes);
  const auto name = parse_source_name("npy:" + file + (options.empty() ? "" : "?" + options));
  return test::after(file, input_error([&] { read_npy_labels(name); }));
}

TEST(NpyLabels, TwoAxesAreSequencesAndThreeImages) {
  const auto sequences = read(npy_bytes("'|u1'", "(2, 3)", std::string("\0\1\2\3\0\1", 6)));
  EXPECT_TRUE(sequences.space.is(PartKind::sequence));
  EXPECT_EQ(sequences.space.max_labels(), 4);
  EXPECT_EQ(sequences.labels.scalar_type(), torch::kUInt8);
  EXPECT_EQ(sequences.labels[1][0].item<int64_t>(), 3);
  const auto images = read(npy_bytes("'|b1'", "(1, 2, 3)", std::string("\0\1\1\0\0\1", 6)), "labels=5");
  EXPECT_EQ(images.space.item_shape(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(images.space.max_labels(), 5);
  EXPECT_EQ(read(npy_bytes("'|u1'", "(2, 3)", std::string("\0\1\2\3\0\1", 6)), "limit=1").labels.size(0), 1);
}

TEST(NpyLabels, ValuesThatAreNoLabelsAreNamedWithTheirPlace) {
  EXPECT_EQ(error_of(npy_bytes("'|i1'", "(2, 1, 3)", "\x01\x01\x01\x01\x01\xfe")),
            ": value -2 at [1, 0, 2], a label from 0 to 65535, or -1 if unknown, was expected");
  EXPECT_EQ(error_of(npy_bytes("'|i1'", "(1, 2)", "\xff\xfd"), "labels=7"),
            ": value -3 at [0, 1], a label from 0 to 6 (labels=), or -1 if unknown, was expected");
  EXPECT_EQ(error_of(npy_bytes("'|u1'", "(2, 2)", "\x01\x01\x07\x01"), "labels=7"),
            ": value 7 at [1, 0], a label from 0 to 6 (labels=) was expected");
  EXPECT_EQ(error_of(npy_bytes("'<i4'", "(1, 1)", std::string("\0\0\1\0", 4))),
            ": value 65536 at [0, 0], a label from 0 to 65535 was expected");
}

TEST(NpyLabels, MinusOneIsUnknown) {
  const Dataset data = read(npy_bytes("'|i1'", "(2, 1, 3)", "\x01\x01\x02\x01\x01\xff"));
  EXPECT_EQ(data.unknowns, Unknowns::allow);
  EXPECT_EQ(data.space.max_labels(), 3);
  EXPECT_EQ(data.labels.scalar_type(), torch::kInt16);
  EXPECT_TRUE(torch::equal(data.labels.to(torch::kInt64), torch::tensor({{1, 1, 2}, {1, 1, -1}})));
  EXPECT_EQ(read(npy_bytes("'|i1'", "(1, 2)", "\x01\x02")).unknowns, Unknowns::refuse);
  EXPECT_EQ(error_of(npy_bytes("'|i1'", "(1, 2)", "\xff\xff")), ": every value is -1, unknown; labels were expected");
}

TEST(NpyLabels, AStrayValueIsNamedWithItsPlaceAndTheWayOut) {
  std::string values;
  for (int k = 0; k < 120; ++k) values += static_cast<char>(k % 5);
  values[67] = static_cast<char>(200);
  const auto file = npy_bytes("'|u1'", "(2, 6, 10)", values);
  EXPECT_EQ(error_of(file),
            ": value 200 at [1, 0, 7] occurs once in 120 values and would make 201 labels, of which 195 never occur; "
            "correct it, or give the number of labels (labels=201)");
  EXPECT_EQ(read(file, "labels=201").space.max_labels(), 201);
  EXPECT_EQ(read(file, "limit=1").space.max_labels(), 5);
}

TEST(NpyLabels, OtherShapesAreRefused) {
  EXPECT_EQ(error_of(npy_bytes("'|u1'", "(2,)", "\x01\x01")),
            ": the array has 1 axes, expected [items, length] for sequences or [items, height, width] for images");
  EXPECT_EQ(error_of(npy_bytes("'|u1'", "(0, 3)", "")), ": an array of shape [0, 3] holds no labels");
}

}  // namespace
}  // namespace segre::npy_labels_test
