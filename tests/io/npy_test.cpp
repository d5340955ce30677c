#include "segre/io/npy.h"

#include <sstream>

#include "tests/support/archives.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::npy_test {
namespace {

constexpr size_t kPreamble = 10;   // magic, version, header length
constexpr size_t kAlignment = 64;  // the format requires the data to start at a multiple of this

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

// What the format requires of a header with this dictionary.
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
  EXPECT_EQ(header_of(Space::image(32, 48, 300), 123456),
            expected_header("{'descr': '<u2', 'fortran_order': False, 'shape': (123456, 32, 48,), }"));
}

TEST(Npy, TheDataStartAtAMultipleOf64ForAnyCount) {
  for (int64_t count = 1; count < int64_t{1} << 56; count *= 10)
    EXPECT_EQ(header_of(test::mixed_space(), count).size() % kAlignment, 0U) << count;
}

TEST(Npy, TheWidestVariableDecidesTheWidthOfAll) {
  EXPECT_EQ(npy_label_bytes(Space::table({{"a", 2, {}}, {"b", 256, {}}})), 1);
  EXPECT_EQ(npy_label_bytes(Space::table({{"a", 2, {}}, {"b", 257, {}}})), 2);
  EXPECT_EQ(npy_label_bytes(Space::sequence(1, kMaxLabels)), 2);
}

TEST(Npy, OneByteHolds256Labels) {
  const Space space = Space::sequence(2, 256);
  const auto labels = torch::tensor({{0, 255}, {128, 7}}, torch::kInt64);
  EXPECT_EQ(values_of(space, labels), std::string("\x00\xff\x80\x07", 4));
}

TEST(Npy, TwoBytesAreLittleEndian) {
  const Space space = Space::sequence(2, kMaxLabels);
  const auto labels = torch::tensor({{258, 65535}, {0, 256}}, torch::kInt64);
  EXPECT_EQ(values_of(space, labels), std::string("\x02\x01\xff\xff\x00\x00\x00\x01", 8));
}

TEST(Npy, LabelsAreWrittenRowByRowWhateverTheirStride) {
  const auto columns = torch::tensor({{0, 1}, {2, 3}, {4, 5}}, torch::kInt64);
  const Space space = Space::sequence(3, 6);
  EXPECT_EQ(values_of(space, columns.t()), std::string("\x00\x02\x04\x01\x03\x05", 6));
}

torch::Tensor read(const std::string& bytes) {
  const test::ScratchFolder folder;
  test::write_text(folder / "x.npy", bytes);
  return read_npy(folder / "x.npy");
}

// The message on reading, without the file name.
std::string error_of(const std::string& bytes) {
  const test::ScratchFolder folder;
  const auto file = (folder / "x.npy").string();
  test::write_text(file, bytes);
  return test::after(file, test::input_error([&] { read_npy(file); }));
}

TEST(NpyRead, WhatIsWrittenIsReadBack) {
  for (const int64_t c : {7, 65'536}) {
    const Space space = Space::image(2, 3, c);
    const auto labels = torch::tensor(std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 5, 4, 3, 2, c - 1}).view({2, 6});
    const auto back = read(header_of(space, 2) + values_of(space, labels));
    EXPECT_TRUE(torch::equal(back.to(torch::kInt64), labels.view({2, 2, 3})));
  }
}

TEST(NpyRead, EveryIntegerTypeAndByteOrder) {
  const std::string little("\x02\x01\x00\x00\x00\x00\x00\x00", 8);
  const std::string big(little.rbegin(), little.rend());
  for (const int64_t width : {2, 4, 8})
    for (const char kind : {'u', 'i'}) {
      const std::string type = concat(kind, width, "'");
      EXPECT_EQ(read(test::npy_bytes("'<" + type, "(1,)", little.substr(0, width))).item<int64_t>(), 258) << type;
      EXPECT_EQ(read(test::npy_bytes("'>" + type, "(1,)", big.substr(8 - width))).item<int64_t>(), 258) << type;
    }
  EXPECT_EQ(read(test::npy_bytes("'<u2'", "(1,)", "\xff\xff")).item<int64_t>(), 65535);
  EXPECT_EQ(read(test::npy_bytes("'<i2'", "(1,)", "\xff\xff")).item<int64_t>(), -1);
  EXPECT_EQ(read(test::npy_bytes("'|i1'", "(1,)", "\xff")).item<int64_t>(), -1);
  EXPECT_EQ(read(test::npy_bytes("'|b1'", "(1,)", "\x01")).item<int64_t>(), 1);
  EXPECT_EQ(error_of(test::npy_bytes("'<u8'", "(1,)", std::string(8, '\xff'))),
            ": holds a value of 2^63 or more, smaller integers were expected");
}

TEST(NpyRead, FortranOrderIsTurned) {
  const auto values = read(test::npy_bytes("'|u1'", "(2, 3)", std::string("\0\1\2\3\4\5", 6), /*fortran=*/true));
  EXPECT_TRUE(torch::equal(values.to(torch::kInt64), torch::tensor({{0, 2, 4}, {1, 3, 5}}, torch::kInt64)));
}

TEST(NpyRead, LaterVersionsHaveLongerLengths) {
  for (const char version : {2, 3}) {
    std::string bytes = test::npy_bytes("'|u1'", "(2,)", "\x05\x06");
    bytes[6] = version;
    bytes.insert(10, std::string(2, '\0'));
    EXPECT_EQ(read(bytes)[1].item<int64_t>(), 6);
  }
}

TEST(NpyRead, OtherTypesAreRefused) {
  EXPECT_EQ(error_of(test::npy_bytes("'<f4'", "(1,)", "abcd")),
            ": values of type '<f4' (floating point), integers or booleans were expected: convert them with astype");
  EXPECT_EQ(error_of(test::npy_bytes("'<U3'", "(1,)", "")),
            ": values of type '<U3', integers or booleans were expected");
  EXPECT_EQ(error_of(test::npy_bytes("[('a', '<i4')]", "(1,)", "abcd")),
            ": values of type [('a', '<i4')], integers or booleans were expected");
}

TEST(NpyRead, TheBodyMustFitTheHeader) {
  EXPECT_EQ(error_of(test::npy_bytes("'<i4'", "(2, 3)", "abcd")), ": has 4 bytes of data, its header promises 24");
  EXPECT_EQ(error_of(test::npy_bytes("'|u1'", "(2,)", "abc")), ": has 3 bytes of data, its header promises 2");
  EXPECT_EQ(error_of(test::npy_bytes("'|u1'", "(1000000000000,)", "abc")),
            ": has 3 bytes of data, its header promises 1000000000000");
}

TEST(NpyRead, BrokenHeadersAreNamed) {
  const std::string good = test::npy_bytes("'|u1'", "(2,)", "ab");
  EXPECT_TRUE(test::contains(error_of("PK and more"), ": does not start with NPY's magic bytes"));
  EXPECT_EQ(error_of(good.substr(0, 7)), ": ends inside the NPY header");
  EXPECT_EQ(error_of(good.substr(0, 30)), ": ends inside the NPY header");
  std::string version = good;
  version[6] = 9;
  EXPECT_EQ(error_of(version), ": NPY version 9, expected 1, 2 or 3");
  EXPECT_EQ(error_of(test::npy_bytes("'|u1'", "(-2,)", "ab")),
            ": the NPY header's shape is (-2,), a tuple of sizes was expected");
  EXPECT_EQ(error_of(test::npy_bytes("'|u1'", "(4000000000, 4000000000)", "ab")),
            ": the NPY header's shape is (4000000000, 4000000000), a tuple of sizes was expected");
  EXPECT_EQ(error_of(test::npy_bytes("'|u1'", "(0, 4000000000, 4000000000)", "")),
            ": the NPY header's shape is (0, 4000000000, 4000000000), a tuple of sizes was expected");
  EXPECT_EQ(error_of(std::string("\x93NUMPY\x01\x00\x02\x00{}", 12)), ": the NPY header has no 'descr'");
}

TEST(Npy, RefusesLabelsThatDoNotFitTheHeader) {
  std::ostringstream out;
  const auto refusal = [&](const torch::Tensor& labels) {
    return test::input_error([&] { write_npy_labels(out, test::binary_space(2), labels); });
  };
  EXPECT_EQ(refusal(torch::tensor({{0, 257}}, torch::kInt64)),
            "item 0, variable x2: label 257 where 0 to 1 was expected");
  EXPECT_EQ(refusal(torch::zeros({1, 3}, torch::kInt64)),
            "labels must be int64 of shape [items, 2], found long int of shape [1, 3]");
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace segre::npy_test
