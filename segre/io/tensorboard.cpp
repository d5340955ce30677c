#include "segre/io/tensorboard.h"

#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>

#include "segre/core/error.h"

namespace segre {
namespace {

namespace fs = std::filesystem;

// Field numbers in TensorFlow's event.proto and summary.proto.
enum EventField { kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5 };
enum SummaryField { kValue = 1 };
enum ValueField { kTag = 1, kSimpleValue = 2, kImage = 4 };
enum ImageField { kHeight = 1, kWidth = 2, kColorspace = 3, kPng = 4 };

constexpr std::array<uint32_t, 256> crc_table() {
  constexpr uint32_t kReversedPolynomial = 0x82F63B78U;
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? kReversedPolynomial : 0U);
    table[byte] = crc;
  }
  return table;
}

// Appends an unsigned number in little-endian order, whatever the machine's.
template <class Unsigned>
void append_fixed(std::string& out, Unsigned value) {
  for (size_t k = 0; k < sizeof(value); ++k) out.push_back(static_cast<char>(static_cast<uint8_t>(value >> (8 * k))));
}

// A checksum of data that contain checksums is weak, so TFRecord rotates and shifts them.
uint32_t masked_crc(std::string_view bytes) {
  constexpr uint32_t kMask = 0xA282EAD8U;
  return std::rotr(detail::crc32c(bytes), 15) + kMask;
}

// A protocol buffer message, field by field.
class Message {
 public:
  Message& number(int field, int64_t value) {
    key(field, kVarint);
    varint(static_cast<uint64_t>(value));
    return *this;
  }
  Message& float64(int field, double value) {
    key(field, kFixed64);
    append_fixed(bytes_, std::bit_cast<uint64_t>(value));
    return *this;
  }
  Message& float32(int field, float value) {
    key(field, kFixed32);
    append_fixed(bytes_, std::bit_cast<uint32_t>(value));
    return *this;
  }
  Message& text(int field, std::string_view value) {
    key(field, kLengthFirst);
    varint(value.size());
    bytes_.append(value);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  enum WireType : uint64_t { kVarint = 0, kFixed64 = 1, kLengthFirst = 2, kFixed32 = 5 };

  void key(int field, WireType type) { varint(static_cast<uint64_t>(field) << 3U | type); }
  void varint(uint64_t value) {
    for (; value >= 0x80U; value >>= 7U) bytes_.push_back(static_cast<char>(static_cast<uint8_t>(value | 0x80U)));
    bytes_.push_back(static_cast<char>(static_cast<uint8_t>(value)));
  }

  std::string bytes_;
};

std::string summary_event(double wall_time, int64_t step, const Message& value) {
  const Message summary = Message().text(kValue, value.bytes());
  return Message().float64(kWallTime, wall_time).number(kStep, step).text(kSummary, summary.bytes()).bytes();
}

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

std::string writer_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

// An unused name in the directory. TensorBoard reads the files of a directory in order of their names, so the time
// comes first.
fs::path free_name(const fs::path& directory) {
  const auto stem =
      concat("events.out.tfevents.", static_cast<int64_t>(now()), ".", writer_name(), ".", ::getpid(), ".");
  std::error_code ignored;
  for (int number = 0;; ++number)
    if (fs::path file = directory / concat(stem, number); !fs::exists(file, ignored)) return file;
}

// Maximum bytes of records held back while the disk is full; beyond that they are dropped.
constexpr size_t kMostPending = size_t{64} << 20U;

}  // namespace

namespace detail {

uint32_t crc32c(std::string_view bytes) {
  static constexpr auto kTable = crc_table();
  uint32_t crc = ~0U;
  for (const char byte : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint8_t>(byte)) & 0xFFU];
  return ~crc;
}

std::string tfrecord(std::string_view data) {
  std::string record;
  append_fixed<uint64_t>(record, data.size());
  append_fixed(record, masked_crc(record));
  record.append(data);
  append_fixed(record, masked_crc(data));
  return record;
}

std::string version_event(double wall_time) {
  return Message().float64(kWallTime, wall_time).text(kFileVersion, "brain.Event:2").bytes();
}

std::string scalar_event(double wall_time, std::string_view tag, int64_t step, double value) {
  return summary_event(wall_time, step, Message().text(kTag, tag).float32(kSimpleValue, static_cast<float>(value)));
}

std::string image_event(double wall_time, std::string_view tag, int64_t step, std::string_view png, int64_t height,
                        int64_t width) {
  constexpr int64_t kRgb = 3;  // only informative; the PNG itself declares its channels
  const Message image =
      Message().number(kHeight, height).number(kWidth, width).number(kColorspace, kRgb).text(kPng, png);
  return summary_event(wall_time, step, Message().text(kTag, tag).text(kImage, image.bytes()));
}

}  // namespace detail

TensorBoardWriter::TensorBoardWriter(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) fail(directory.string(), ": cannot be made (", error.message(), ")");
  file_ = std::make_unique<AppendFile>(free_name(directory));
  append(detail::version_event(now()));
  flush();
}

void TensorBoardWriter::scalar(std::string_view tag, int64_t step, double value) {
  append(detail::scalar_event(now(), tag, step, value));
}

void TensorBoardWriter::image(std::string_view tag, int64_t step, std::string_view png, int64_t height, int64_t width) {
  append(detail::image_event(now(), tag, step, png, height, width));
}

TensorBoardWriter::~TensorBoardWriter() {
  try {
    flush();
  } catch (const Error&) {
    // Reported before; a curve without its last points is no reason to abort.
  }
}

void TensorBoardWriter::append(std::string_view event) { pending_ += detail::tfrecord(event); }

void TensorBoardWriter::flush() {
  if (pending_.empty()) return;
  try {
    if (!file_->torn()) file_->append(pending_);  // a reader gives up at a torn record
  } catch (const FileError&) {
    if (pending_.size() > kMostPending) pending_.clear();
    throw;
  }
  pending_.clear();
}

}  // namespace segre
