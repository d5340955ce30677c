#include "segre/io/safetensors.h"

#include <cstring>

#include "segre/io/files.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::safetensors_test {
namespace {

using test::contains;
using test::input_error;
using test::ScratchFolder;
using test::write_text;

std::string length_bytes(uint64_t length) {
  std::string bytes(8, '\0');
  for (int k = 0; k < 8; ++k) bytes[k] = static_cast<char>(length >> (8 * k));
  return bytes;
}

// A file built byte by byte.
std::string file_of(const std::string& header, const std::string& data) {
  return length_bytes(header.size()) + header + data;
}

// The message on reading these bytes, without the file name.
std::string error_of(const std::string& bytes) {
  const ScratchFolder folder;
  const auto file = (folder / "t.safetensors").string();
  write_text(file, bytes);
  return test::after(file + ": ", input_error([&] { read_safetensors(file); }));
}

NamedTensors round_trip(const NamedTensors& tensors) {
  const ScratchFolder folder;
  write_safetensors(folder / "t", tensors);
  return read_safetensors(folder / "t");
}

void expect_same(const NamedTensors& found, const NamedTensors& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (const auto& [name, tensor] : wanted) {
    ASSERT_TRUE(found.contains(name)) << name;
    EXPECT_EQ(found.at(name).scalar_type(), tensor.scalar_type()) << name;
    EXPECT_TRUE(torch::equal(found.at(name), tensor)) << name;
  }
}

TEST(Safetensors, EveryTypeSurvives) {
  const NamedTensors tensors{{"f32", torch::tensor({1.5F, -0.0F, 3e38F})},
                             {"f64", torch::tensor({1.0 / 3.0, -1e300}, torch::kFloat64)},
                             {"i64", torch::tensor({INT64_MIN, INT64_MAX}, torch::kInt64)},
                             {"i32", torch::tensor({{-7}, {8}}, torch::kInt32)},
                             {"u8", torch::tensor({0, 255, 3}, torch::kUInt8)}};
  expect_same(round_trip(tensors), tensors);
}

TEST(Safetensors, EmptyTensorsScalarsAndOddNamesSurvive) {
  const NamedTensors tensors{{"", torch::tensor(2.5)},
                             {"empty", torch::empty({0, 3})},
                             {"a \"quoted\" n\xc3\xa4me\n", torch::tensor(int64_t{4}, torch::kInt64)}};
  expect_same(round_trip(tensors), tensors);
  expect_same(round_trip({}), {});
}

TEST(Safetensors, TensorsOfAnyStrideAndWithGradientsAreWritten) {
  const auto matrix = torch::arange(6, torch::kFloat32).view({2, 3}).t();
  const auto weight = torch::ones({2}).requires_grad_(true);
  expect_same(round_trip({{"m", matrix}, {"w", weight}}), {{"m", matrix}, {"w", weight.detach()}});
}

TEST(Safetensors, TheFileIsAsTheFormatSays) {
  const ScratchFolder folder;
  write_safetensors(folder / "t", {{"ab", torch::tensor({1, 2}, torch::kUInt8)}});
  const auto bytes = read_file(folder / "t");
  const std::string header = R"({"ab":{"data_offsets":[0,2],"dtype":"U8","shape":[2]}})";
  const size_t padded = (header.size() + 7) / 8 * 8;
  EXPECT_EQ(bytes, length_bytes(padded) + header + std::string(padded - header.size(), ' ') + "\x01\x02");
}

TEST(Safetensors, DataStartAtAMultipleOf8) {
  for (int length = 1; length <= 8; ++length) {
    const ScratchFolder folder;
    write_safetensors(folder / "t", {{std::string(length, 'n'), torch::zeros({3}, torch::kFloat64)}});
    constexpr size_t kDataBytes = 3 * 8;
    EXPECT_EQ((read_file(folder / "t").size() - kDataBytes) % 8, 0U);
  }
}

TEST(Safetensors, MetadataOfOtherWritersAreIgnored) {
  const ScratchFolder folder;
  write_text(folder / "t",
             file_of(R"({"__metadata__":{"k":"v"},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "\x05"));
  expect_same(read_safetensors(folder / "t"), {{"a", torch::tensor({5}, torch::kUInt8)}});
}

TEST(Safetensors, OtherTypesAreNotWrittenAndLeaveNoFile) {
  const ScratchFolder folder;
  EXPECT_TRUE(contains(test::any_error([&] {
                         write_safetensors(folder / "t", {{"a", torch::zeros({1}, torch::kHalf)}});
                       }),
                       "safetensors: tensors of type Half cannot be written"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Safetensors, AFileTooShortForALengthIsRefused) {
  EXPECT_EQ(error_of(""), "holds 0 bytes, a safetensors file has at least 8");
  EXPECT_EQ(error_of("1234567"), "holds 7 bytes, a safetensors file has at least 8");
}

TEST(Safetensors, ATruncatedHeaderIsRefused) {
  EXPECT_EQ(error_of(length_bytes(100) + "{}"),
            "promises a header of 100 bytes, the file holds 10; not a safetensors file, or cut short");
  EXPECT_TRUE(contains(error_of(std::string(9, '\xff')), "promises a header of 18446744073709551615 bytes"));
}

TEST(Safetensors, AHeaderThatIsNotTheRightJsonIsRefused) {
  for (const char* header : {"", "{", "nonsense", "[1]", "5", R"({"a":1})", R"({"a":{"dtype":"U8","shape":[1]}})",
                             R"({"a":{"dtype":1,"shape":[1],"data_offsets":[0,1]}})",
                             R"({"a":{"dtype":"U8","shape":"x","data_offsets":[0,1]}})"})
    EXPECT_TRUE(error_of(file_of(header, "x")).starts_with("the safetensors header is not valid (")) << header;
}

std::string entry(const std::string& type, const std::string& shape, const std::string& offsets) {
  return concat("{\"a\":{\"dtype\":\"", type, "\",\"shape\":", shape, ",\"data_offsets\":", offsets, "}}");
}

TEST(Safetensors, AnUnknownTypeIsNamed) {
  EXPECT_EQ(error_of(file_of(entry("BF16", "[1]", "[0,2]"), "xy")),
            "tensor type BF16 is not one of F32, F64, I64, I32, U8");
}

TEST(Safetensors, ANegativeExtentIsNamed) {
  EXPECT_EQ(error_of(file_of(entry("U8", "[2,-1]", "[0,0]"), "")), "tensor a has a negative extent -1");
}

TEST(Safetensors, APlaceThatDoesNotHoldTheTensorIsRefused) {
  const std::string expected = "tensor a needs 8 bytes, which its data_offsets do not span; was the file cut short?";
  const std::string data = "12345678";
  for (const char* offsets : {"[0,4]", "[0,9]", "[1,9]", "[8,0]", "[4,4]", "[0]", "[0,8,9]", "[-8,0]", "[16,24]"})
    EXPECT_EQ(error_of(file_of(entry("F32", "[2]", offsets), data)), expected) << offsets;
  EXPECT_EQ(error_of(file_of(entry("F32", "[2]", "[0,8]"), data.substr(1))), expected) << "data cut short";
}

TEST(Safetensors, ExtentsWhoseProductOverflowsAreRefused) {
  EXPECT_EQ(error_of(file_of(entry("F32", "[4294967296,4294967296]", "[0,0]"), "")),
            "tensor a has shape [4294967296, 4294967296], too many elements");
  // An empty tensor has strides like any other.
  EXPECT_EQ(error_of(file_of(entry("F32", "[0,4294967296,4294967296]", "[0,0]"), "")),
            "tensor a has shape [0, 4294967296, 4294967296], too many elements");
}

TEST(Safetensors, ExtentsAndPlacesMustBeWholeNumbers) {
  EXPECT_EQ(error_of(file_of(entry("U8", "[1e300]", "[0,1]"), "x")),
            "the safetensors header is not valid (tensor a): shape is 1e+300, a whole number was expected");
  EXPECT_EQ(error_of(file_of(entry("U8", "[1]", "[0,1.5]"), "x")),
            "the safetensors header is not valid (tensor a): data_offsets is 1.5, a whole number was expected");
  EXPECT_EQ(error_of(file_of(entry("U8", "[18446744073709551615]", "[0,1]"), "x")),
            "the safetensors header is not valid (tensor a): shape is 18446744073709551615, a whole number was "
            "expected");
}

TEST(Safetensors, MoreAxesThanAnyTensorHasAreRefused) {
  std::string shape = "1";
  for (int axis = 1; axis < 33; ++axis) shape += ",1";
  EXPECT_EQ(error_of(file_of(entry("U8", "[" + shape + "]", "[0,1]"), "x")),
            "tensor a has 33 axes, at most 32 are read");
}

TEST(Safetensors, TensorsThatShareBytesAreRefused) {
  // Otherwise a header of a megabyte could ask for ten thousand copies of the data.
  EXPECT_EQ(error_of(file_of(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
                             R"("b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
                             "1234")),
            "tensor b shares its bytes with another tensor");
}

TEST(Safetensors, ANameWithALineEndIsShownOnOneLine) {
  EXPECT_EQ(error_of(file_of("{\"a\\nb\":{\"dtype\":\"U8\",\"shape\":[-1],\"data_offsets\":[0,0]}}", "")),
            "tensor a\\nb has a negative extent -1");
}

}  // namespace
}  // namespace segre::safetensors_test
