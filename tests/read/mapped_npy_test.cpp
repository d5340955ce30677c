#include "segre/io/mapped_rows.h"
#include "segre/io/npy.h"
#include "segre/read/readers.h"
#include "segre/runs/data_fingerprint.h"
#include "segre/sources/source_kinds.h"
#include "tests/support/archives.h"
#include "tests/support/mapped.h"
#include "tests/support/messages.h"

// Arrays that are mapped instead of read: nothing else may change.

namespace segre::mapped_npy_test {
namespace {

using test::input_error;
using test::npy_bytes;
using test::ScratchFolder;
using test::write_text;

// An array whose values start at a multiple of 64 bytes, as numpy writes it.
std::string aligned_npy(const std::string& type, std::string shape, const std::string& body, bool fortran = false) {
  while ((npy_bytes(type, shape, "", fortran)).size() % 64 != 0) shape += ' ';
  return npy_bytes(type, shape, body, fortran);
}

class MappedNpy : public testing::Test {
 protected:
  std::string file(const std::string& bytes) const {
    write_text(folder_ / "x.npy", bytes);
    return (folder_ / "x.npy").string();
  }
  // Of an array mapped however small it is, and of the same array read.
  void expect_same_error(const std::string& bytes, const std::string& options = "") const {
    const std::string path = file(bytes);
    const auto name = parse_source_name("npy:" + path + options);
    const auto expected = input_error([&] { read_array(read_npy(path), name); });
    EXPECT_NE(expected, "");
    EXPECT_EQ(input_error([&] { read_array(map_npy(path, 0), name); }), expected);
  }
  ScratchFolder folder_;
};

TEST_F(MappedNpy, HoldsTheValuesOfTheFileIfTensorsStoreThemSo) {
  const std::string body("\0\1\2\3\0\0\0\0\1\0\2\0\3\0\1\0\1\1\0\0\0\0\0\0", 24);
  for (const auto& [type, shape, maps] : {std::tuple{"'|u1'", "(8, 3)", true},
                                          {"'|b1'", "(4, 2, 3)", true},
                                          {"'|i1'", "(8, 3)", true},
                                          {"'<i2'", "(4, 3)", true},
                                          {"'<i4'", "(2, 3)", true},
                                          {"'<i8'", "(1, 3)", true},
                                          {"'<u2'", "(4, 3)", false},
                                          {"'>i2'", "(4, 3)", false},
                                          {"'<u4'", "(2, 3)", false}}) {
    const std::string path = file(aligned_npy(type, shape, body));
    const auto values = map_npy(path, 0);
    EXPECT_EQ(is_mapped(values), maps) << type;
    EXPECT_TRUE(torch::equal(values, read_npy(path))) << type;
    EXPECT_EQ(values.scalar_type(), read_npy(path).scalar_type()) << type;
  }
}

TEST_F(MappedNpy, OfAnotherLayoutOrFewValuesIsRead) {
  const std::string body("\0\1\2\3\4\5", 6);
  const auto plain = aligned_npy("'|u1'", "(2, 3)", body);
  EXPECT_TRUE(is_mapped(map_npy(file(plain), 6)));
  EXPECT_FALSE(is_mapped(map_npy(file(plain), 7)));
  EXPECT_FALSE(is_mapped(map_npy(file(plain))));
  EXPECT_FALSE(is_mapped(map_npy(file(test::gzip_bytes(plain)), 0)));
  const auto turned = map_npy(file(aligned_npy("'|u1'", "(2, 3)", body, /*fortran=*/true)), 0);
  EXPECT_FALSE(is_mapped(turned));
  EXPECT_TRUE(torch::equal(turned, torch::tensor({{0, 2, 4}, {1, 3, 5}}, torch::kUInt8)));
  auto odd = npy_bytes("'<i4'", "(1, 1)", std::string("\1\0\0\0", 4));
  for (std::string shape = "(1, 1)"; (odd.size() - 4) % 4 == 0; shape += ' ')
    odd = npy_bytes("'<i4'", shape + " ", std::string("\1\0\0\0", 4));
  EXPECT_FALSE(is_mapped(map_npy(file(odd), 0))) << "its values are not aligned";
  EXPECT_EQ(map_npy(file(odd), 0)[0][0].item<int64_t>(), 1);
}

TEST_F(MappedNpy, CutShortOrTooLongIsRefusedWithTheSameWords) {
  for (const auto& body : {std::string("\0\1\2\3\4", 5), std::string("\0\1\2\3\4\5\6", 7), std::string()}) {
    const std::string path = file(aligned_npy("'|u1'", "(2, 3)", body));
    const auto expected = input_error([&] { read_npy(path); });
    EXPECT_TRUE(test::contains(expected, concat(": has ", body.size(), " bytes of data, its header promises 6")));
    EXPECT_EQ(input_error([&] { map_npy(path, 0); }), expected);
  }
}

TEST_F(MappedNpy, BadValuesAreRefusedWithTheSameWords) {
  expect_same_error(aligned_npy("'|i1'", "(2, 1, 3)", "\x01\x01\x01\x01\x01\xfe"));
  expect_same_error(aligned_npy("'|u1'", "(2, 2)", "\x01\x01\x07\x01"), "?labels=7");
  expect_same_error(aligned_npy("'<i4'", "(1, 1)", std::string("\0\0\1\0", 4)));
  expect_same_error(aligned_npy("'|i1'", "(1, 2)", "\xff\xff"));
  expect_same_error(aligned_npy("'|u1'", "(2,)", "\x01\x01"));
  std::string values;
  for (int k = 0; k < 120; ++k) values += static_cast<char>(k % 5);
  values[67] = static_cast<char>(200);
  expect_same_error(aligned_npy("'|u1'", "(2, 6, 10)", values));
}

TEST_F(MappedNpy, IsMappedFromTheFileToTheSource) {
  const std::string path = file(aligned_npy("'|u1'", "(2, 3)", std::string("\0\1\2\3\4\0", 6)));
  const auto name = parse_source_name("npy:" + path);
  const auto source = make_dataset_source(read_array(map_npy(path, 0), name));
  EXPECT_TRUE(is_mapped(source->dataset()->labels));
  EXPECT_EQ(source->place(1), path + ": item 1");
  EXPECT_EQ(fingerprint_of(*source, name.text()),
            fingerprint_of(*make_dataset_source(read_npy_labels(name)), name.text()));
  // Unknown labels need a sign, and int16 has one.
  const std::string signed_path = file(aligned_npy("'<i2'", "(2, 2)", std::string("\0\0\1\0\xff\xff\2\0", 8)));
  const Dataset unknown = read_array(map_npy(signed_path, 0), name);
  EXPECT_TRUE(is_mapped(unknown.labels));
  EXPECT_EQ(unknown.unknowns, Unknowns::allow);
  // Without unknown ones they are kept as bytes, which is a copy.
  EXPECT_FALSE(is_mapped(read_array(map_npy(signed_path, 0), parse_source_name("npy:x?limit=1")).labels));
}

TEST_F(MappedNpy, OfManyMegabytesTakesHardlyAnyMemory) {
  if (!test::kCountsMemory) GTEST_SKIP() << "sanitizers keep memory";
  constexpr int64_t kItems = 6'000'000;
  constexpr int64_t kLength = 100;
  const auto header = aligned_npy("'|u1'", concat("(", kItems, ", ", kLength, ")"), "");
  const std::string path = file(header);
  std::filesystem::resize_file(path, header.size() + kItems * kLength);  // a hole: takes no disk
  const std::string source_name = "npy:" + path + "?labels=3";
  const int64_t before = test::resident_bytes();
  const auto source = open_source(source_name);
  ASSERT_TRUE(is_mapped(source->dataset()->labels));
  EXPECT_EQ(source->n_items(), kItems);
  EXPECT_LT(test::resident_bytes() - before, int64_t{200} << 20);
  for (uint64_t batch = 0; batch < 20; ++batch)
    EXPECT_EQ(source->items({1, Purpose::training_data}, 1000 * batch, 1000).max().item<int64_t>(), 0);
  fingerprint_of(*source, source_name);
  EXPECT_LT(test::resident_bytes() - before, int64_t{200} << 20);
}

}  // namespace
}  // namespace segre::mapped_npy_test
