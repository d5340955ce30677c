#include "tests/support/archives.h"

#include <gtest/gtest.h>
#include <minizip/zip.h>
#include <zlib.h>

#include "segre/core/error.h"

namespace segre::test {
namespace {

std::string big_endian(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

const Bytef* bytes_of(const std::string& text) { return reinterpret_cast<const Bytef*>(text.data()); }

std::string png_chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  const auto crc = crc32(0, bytes_of(body), static_cast<uInt>(body.size()));
  return big_endian(static_cast<uint32_t>(data.size())) + body + big_endian(static_cast<uint32_t>(crc));
}

}  // namespace

std::string gzip_bytes(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = const_cast<Bytef*>(bytes_of(text));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

void write_zip(const std::filesystem::path& path, const std::vector<std::pair<std::string, std::string>>& files,
               const std::string& password) {
  zipFile zip = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
  ASSERT_NE(zip, nullptr);
  for (const auto& [name, text] : files) {
    const auto crc = crc32(0, bytes_of(text), static_cast<uInt>(text.size()));
    EXPECT_EQ(zipOpenNewFileInZip3(zip, name.c_str(), nullptr, nullptr, 0, nullptr, 0, nullptr, Z_DEFLATED,
                                   Z_BEST_COMPRESSION, 0, -MAX_WBITS, DEF_MEM_LEVEL, Z_DEFAULT_STRATEGY,
                                   password.empty() ? nullptr : password.c_str(), crc),
              ZIP_OK);
    EXPECT_EQ(zipWriteInFileInZip(zip, text.data(), static_cast<unsigned>(text.size())), ZIP_OK);
    EXPECT_EQ(zipCloseFileInZip(zip), ZIP_OK);
  }
  EXPECT_EQ(zipClose(zip, nullptr), ZIP_OK);
}

std::string grey_png(const std::vector<int>& values, int height, int width, int bits) {
  std::string rows;
  for (int y = 0; y < height; ++y) {
    rows += '\0';  // no filter
    int packed = 0;
    for (int x = 0; x < width; ++x) {
      const int value = values[y * width + x];
      if (bits == 16) rows += static_cast<char>(value >> 8);
      if (bits >= 8) {
        rows += static_cast<char>(value & 0xff);
        continue;
      }
      packed |= value << (7 - x % 8);
      if (x % 8 == 7 || x + 1 == width) rows += static_cast<char>(std::exchange(packed, 0));
    }
  }
  uLongf size = compressBound(rows.size());
  std::string packed(size, '\0');
  compress(reinterpret_cast<Bytef*>(packed.data()), &size, bytes_of(rows), rows.size());
  packed.resize(size);
  const std::string form{static_cast<char>(bits), 0, 0, 0, 0};  // grey, deflate, no filter, not interlaced
  return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", big_endian(width) + big_endian(height) + form) +
         png_chunk("IDAT", packed) + png_chunk("IEND", "");
}

std::string idx_images(uint32_t count, uint32_t height, uint32_t width, const std::string& body) {
  return big_endian(0x803) + big_endian(count) + big_endian(height) + big_endian(width) + body;
}

std::string idx_labels(const std::string& labels) {
  return big_endian(0x801) + big_endian(static_cast<uint32_t>(labels.size())) + labels;
}

std::string npy_bytes(const std::string& descr, const std::string& shape, const std::string& body, bool fortran) {
  const std::string header =
      concat("{'descr': ", descr, ", 'fortran_order': ", fortran ? "True" : "False", ", 'shape': ", shape, ", }\n");
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() % 256);
  bytes += static_cast<char>(header.size() / 256);
  return bytes + header + body;
}

}  // namespace segre::test
