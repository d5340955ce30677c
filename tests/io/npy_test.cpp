#include "segre/io/npy.h"

#include <sstream>

#include "tests/support/support.h"

namespace segre {
namespace {

constexpr size_t kPreamble = 10;   // magic, version, header length
constexpr size_t kAlignment = 64;  // the format wants the data to start at a multiple of this

std::string header_of(const Space& space, int64_t count) {
  std::ostringstream out;
  write_npy_header(out, space, count);
  return out.str();
}

std::string values_of(const Space& space, const torch::Tensor& labels) {
  std::ostringstream out;
  write_npy_labels(out, space, labels);
  return out.str();
}

// What the format demands of a header that holds this dictionary.
std::string expected_header(std::string dictionary) {
  while ((kPreamble + dictionary.size() + 1) % kAlignment != 0) dictionary += ' ';
  dictionary += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(dictionary.size() % 256);
  bytes += static_cast<char>(dictionary.size() / 256);
  return bytes + dictionary;
}

TEST(Npy, TheHeaderOfAFewLabelsIsExact) {
  EXPECT_EQ(header_of(test::binary_space(4), 3),
            expected_header("{'descr': '|u1', 'fortran_order': False, 'shape': (3, 4,), }"));
}

TEST(Npy, TheHeaderOfManyLabelsAndAnImageIsExact) {
  EXPECT_EQ(header_of(Space::uniform(Layout::image, {32, 48}, 300), 123456),
            expected_header("{'descr': '<u2', 'fortran_order': False, 'shape': (123456, 32, 48,), }"));
}

TEST(Npy, TheDataStartAtAMultipleOf64ForAnyCount) {
  for (int64_t count = 1; count < int64_t{1} << 60; count *= 10)
    EXPECT_EQ(header_of(test::mixed_space(), count).size() % kAlignment, 0U) << count;
}

TEST(Npy, TheWidestVariableDecidesTheWidthOfAll) {
  EXPECT_EQ(npy_label_bytes(Space::table({{"a", 2, {}}, {"b", 256, {}}})), 1);
  EXPECT_EQ(npy_label_bytes(Space::table({{"a", 2, {}}, {"b", 257, {}}})), 2);
  EXPECT_EQ(npy_label_bytes(Space::uniform(Layout::sequence, {1}, kMaxLabels)), 2);
}

TEST(Npy, OneByteHolds256Labels) {
  const Space space = Space::uniform(Layout::sequence, {2}, 256);
  const auto labels = torch::tensor({{0, 255}, {128, 7}}, torch::kInt64);
  EXPECT_EQ(values_of(space, labels), std::string("\x00\xff\x80\x07", 4));
}

TEST(Npy, TwoBytesAreLittleEndian) {
  const Space space = Space::uniform(Layout::sequence, {2}, kMaxLabels);
  const auto labels = torch::tensor({{258, 65535}, {0, 256}}, torch::kInt64);
  EXPECT_EQ(values_of(space, labels), std::string("\x02\x01\xff\xff\x00\x00\x00\x01", 8));
}

TEST(Npy, LabelsAreWrittenRowByRowWhateverTheirStride) {
  const auto columns = torch::tensor({{0, 1}, {2, 3}, {4, 5}}, torch::kInt64);
  const Space space = Space::uniform(Layout::sequence, {3}, 6);
  EXPECT_EQ(values_of(space, columns.t()), std::string("\x00\x02\x04\x01\x03\x05", 6));
}

}  // namespace
}  // namespace segre
