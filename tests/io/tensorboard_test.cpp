#include "segre/io/tensorboard.h"

#include <cmath>
#include <cstring>
#include <map>
#include <vector>

#include "segre/io/files.h"
#include "tests/support/full_disk.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::tensorboard_test {
namespace {

using test::any_error;
using test::contains;
using test::ScratchFolder;

// A reader of event files that shares nothing with the writer: a bitwise checksum instead of a table, and protocol
// buffers split into (field, contents).

uint32_t crc_by_bits(const std::string& bytes) {
  uint32_t crc = 0xFFFFFFFFU;
  for (const char c : bytes) {
    crc ^= static_cast<uint8_t>(c);
    for (int k = 0; k < 8; ++k) crc = (crc & 1U) != 0 ? (crc >> 1) ^ 0x82F63B78U : crc >> 1;
  }
  return crc ^ 0xFFFFFFFFU;
}

uint32_t mask(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U; }

template <class T>
T number_at(const std::string& bytes, size_t at) {
  T value{};
  EXPECT_LE(at + sizeof(T), bytes.size());
  if (at + sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// The data of all records; a wrong length or checksum fails the test.
std::vector<std::string> records_of(const std::string& file) {
  std::vector<std::string> records;
  size_t at = 0;
  while (at < file.size()) {
    const auto length = number_at<uint64_t>(file, at);
    if (length + 16 > file.size() - at) {
      ADD_FAILURE() << "record of " << length << " bytes at " << at << " of " << file.size();
      break;
    }
    records.push_back(file.substr(at + 12, length));
    EXPECT_EQ(number_at<uint32_t>(file, at + 8), mask(crc_by_bits(file.substr(at, 8))));
    EXPECT_EQ(number_at<uint32_t>(file, at + 12 + length), mask(crc_by_bits(records.back())));
    at += length + 16;
  }
  return records;
}

uint64_t take_varint(const std::string& bytes, size_t& at) {
  uint64_t value = 0;
  for (int shift = 0; at < bytes.size(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes[at++]);
    value |= static_cast<uint64_t>(byte & 0x7FU) << shift;
    if ((byte & 0x80U) == 0) break;
  }
  return value;
}

// Contents by field number; varints as their eight bytes.
std::map<uint64_t, std::string> fields_of(const std::string& message) {
  std::map<uint64_t, std::string> fields;
  for (size_t at = 0; at < message.size();) {
    const uint64_t key = take_varint(message, at);
    std::string contents;
    if ((key & 7U) == 0) {
      const uint64_t value = take_varint(message, at);
      contents.assign(reinterpret_cast<const char*>(&value), 8);
    } else {
      const size_t length = (key & 7U) == 1 ? 8 : (key & 7U) == 5 ? 4 : take_varint(message, at);
      contents = message.substr(at, length);
      EXPECT_EQ(contents.size(), length);
      at += length;
    }
    EXPECT_FALSE(fields.contains(key >> 3U)) << "field " << (key >> 3U) << " twice";
    fields[key >> 3U] = contents;
  }
  return fields;
}

struct Event {
  double wall_time;
  int64_t step;
  std::map<uint64_t, std::string> value;  // of the summary's only entry
};

Event event_of(const std::string& record) {
  auto event = fields_of(record);
  return {number_at<double>(event[1], 0), number_at<int64_t>(event[2], 0), fields_of(fields_of(event[5])[1])};
}

std::string from_hex(const std::string& digits) {
  std::string bytes;
  for (size_t k = 0; k < digits.size(); k += 2)
    bytes.push_back(static_cast<char>(std::stoi(digits.substr(k, 2), nullptr, 16)));
  return bytes;
}

TEST(TensorBoard, TheChecksumGivesTheKnownValues) {
  EXPECT_EQ(detail::crc32c(""), 0U);
  EXPECT_EQ(detail::crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(detail::crc32c(std::string(32, '\0')), 0x8A9136AAU);  // RFC 3720, B.4
  EXPECT_EQ(detail::crc32c(std::string(32, '\xFF')), 0x62A8AB43U);
}

// The expected bytes are those of the tensorboard package's own RecordWriter and protocol buffers (2.21).
TEST(TensorBoard, AScalarIsTheBytesThatTensorBoardWrites) {
  EXPECT_EQ(detail::tfrecord(detail::scalar_event(1700000000.25, "train/loss", 300, 1.5)),
            from_hex("2100000000000000017becf6"
                     "0900001040fc54d94110ac022a130a110a0a747261696e2f6c6f7373150000c03f"
                     "f4536857"));
}

TEST(TensorBoard, TheVersionAndAnImageAreTheBytesThatTensorBoardWrites) {
  EXPECT_EQ(detail::version_event(1.5), from_hex("09000000000000f83f1a0d627261696e2e4576656e743a32"));
  EXPECT_EQ(detail::image_event(1.5, "a", -1, "PNG", 200, 3), from_hex("09000000000000f83f10ffffffffffffffffff01"
                                                                       "2a130a110a0161220c08c801100318032203504e47"));
}

TEST(TensorBoard, AFileStartsWithItsVersion) {
  const ScratchFolder folder;
  const TensorBoardWriter writer(folder.path());
  const auto records = records_of(read_file(writer.file()));  // without a flush: readers may open it at once
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(fields_of(records[0])[3], "brain.Event:2");
  EXPECT_TRUE(contains(writer.file().filename().string(), "events.out.tfevents."));
}

TEST(TensorBoard, ScalarsAndImagesAreReadBack) {
  const ScratchFolder folder;
  std::string png("\x89PNG\r\n\x1a\n\0\0", 10);
  png.resize(100'010, '\xA5');
  TensorBoardWriter writer(folder / "made/on/the/way");
  writer.scalar("train/loss", 0, 0.1);
  writer.scalar("", int64_t{1} << 40, -INFINITY);
  writer.image("samples", 7, png, 128, 256);
  writer.flush();
  const auto records = records_of(read_file(writer.file()));
  ASSERT_EQ(records.size(), 4U);

  auto loss = event_of(records[1]);
  EXPECT_GT(loss.wall_time, 1.7e9);  // November 2023: a clock, not a counter
  EXPECT_EQ(loss.step, 0);
  EXPECT_EQ(loss.value[1], "train/loss");
  EXPECT_EQ(number_at<float>(loss.value[2], 0), 0.1F);

  auto unnamed = event_of(records[2]);
  EXPECT_EQ(unnamed.step, int64_t{1} << 40);
  EXPECT_EQ(number_at<float>(unnamed.value[2], 0), -INFINITY);

  auto samples = event_of(records[3]);
  auto image = fields_of(samples.value[4]);
  EXPECT_EQ(samples.step, 7);
  EXPECT_EQ(samples.value[1], "samples");
  EXPECT_EQ(number_at<int64_t>(image[1], 0), 128);
  EXPECT_EQ(number_at<int64_t>(image[2], 0), 256);
  EXPECT_EQ(image[4], png);
}

TEST(TensorBoard, ASecondWriterStartsItsOwnFile) {
  const ScratchFolder folder;
  TensorBoardWriter first(folder.path());
  first.scalar("x", 1, 1.0);
  first.flush();
  const auto before = read_file(first.file());
  TensorBoardWriter second(folder.path());
  second.scalar("x", 2, 2.0);
  second.flush();
  EXPECT_NE(first.file(), second.file());
  EXPECT_EQ(read_file(first.file()), before);
  EXPECT_EQ(records_of(read_file(second.file())).size(), 2U);
}

TEST(TensorBoard, RecordsThatDoNotFitComeWholeWhenThereIsSpace) {
  const ScratchFolder folder;
  TensorBoardWriter writer(folder.path());
  const auto before = read_file(writer.file());
  std::string error;
  {
    const test::FullDisk full(before.size() + 10);
    writer.scalar("x", 1, 1.0);
    error = any_error([&] { writer.flush(); });
  }
  EXPECT_EQ(error, writer.file().string() + ": writing failed (File too large)");
  EXPECT_EQ(read_file(writer.file()), before);
  writer.scalar("x", 2, 2.0);
  writer.flush();
  EXPECT_EQ(records_of(read_file(writer.file())).size(), 3U);
}

TEST(TensorBoard, ADirectoryThatCannotBeMadeIsNamed) {
  const ScratchFolder folder;
  test::write_text(folder / "file", "");
  const auto message = any_error([&] { TensorBoardWriter(folder / "file/events"); });
  EXPECT_TRUE(contains(message, (folder / "file/events").string() + ": cannot be made"));
}

}  // namespace
}  // namespace segre::tensorboard_test
