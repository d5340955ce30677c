#include "segre/io/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "segre/core/error.h"

namespace segre {
namespace {

#ifdef SEGRE_FUZZ
constexpr size_t kInflatedAtOnce = 512;  // so that small files are read in several parts
#else
constexpr size_t kInflatedAtOnce = size_t{1} << 18;
#endif
constexpr int kGzipWindow = 15 + 16;  // largest window, gzip headers only

int64_t stream_size(const std::string& bytes) {
  std::vector<Bytef> out(compressBound(static_cast<uLong>(bytes.size())));
  uLongf size = static_cast<uLongf>(out.size());
  if (compress2(out.data(), &size, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uLong>(bytes.size()),
                Z_BEST_COMPRESSION) != Z_OK)
    fail("zlib could not compress ", bytes.size(), " bytes");
  return static_cast<int64_t>(size);
}

}  // namespace

struct ByteReader::Inflater {
  z_stream stream{};
  std::vector<char> input = std::vector<char>(kInflatedAtOnce);
  bool in_member = true;  // a member has begun but not ended
  int64_t taken = 0;      // compressed bytes
  int64_t given = 0;      // expanded bytes

  Inflater() {
    if (inflateInit2(&stream, kGzipWindow) != Z_OK) fail("zlib: not enough memory to expand a file");
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
};

ByteReader::ByteReader(const std::filesystem::path& path, const ExpansionLimits& limits)
    : name_(path.string()), limits_(limits), file_(nullptr, &std::fclose) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) fail_input(name_, ": is a directory, a file was expected");
  file_.reset(std::fopen(path.c_str(), "rb"));
  if (!file_) fail_input(name_, ": cannot be opened (", std::strerror(errno), ")");
  std::string start(2, '\0');
  start.resize(read_raw(start.data(), start.size()));
  peeked_ = start;
  if (start == "\x1f\x8b") inflater_ = std::make_unique<Inflater>();
}

ByteReader::~ByteReader() = default;

size_t ByteReader::read_raw(char* into, size_t count) {
  const size_t ahead = std::min(count, peeked_.size());
  std::copy_n(peeked_.data(), ahead, into);
  peeked_.erase(0, ahead);
  const size_t found = std::fread(into + ahead, 1, count - ahead, file_.get());
  if (std::ferror(file_.get()) != 0) fail_input(name_, ": cannot be read (", std::strerror(errno), ")");
  return ahead + found;
}

size_t ByteReader::read(char* into, size_t count) {
  return inflater_ ? read_inflated(into, count) : read_raw(into, count);
}

size_t ByteReader::read_inflated(char* into, size_t count) {
  Inflater& z = *inflater_;
  size_t done = 0;
  while (done < count) {
    if (z.stream.avail_in == 0) {
      z.stream.avail_in = static_cast<uInt>(read_raw(z.input.data(), kInflatedAtOnce));
      z.stream.next_in = reinterpret_cast<Bytef*>(z.input.data());
      z.taken += z.stream.avail_in;
      if (z.stream.avail_in == 0 && z.in_member) fail_input(name_, ": the gzip stream is cut short");
      if (z.stream.avail_in == 0) break;
    }
    if (!z.in_member) {
      inflateReset(&z.stream);
      z.in_member = true;
    }
    const auto room = static_cast<uInt>(std::min(count - done, kInflatedAtOnce));
    z.stream.next_out = reinterpret_cast<Bytef*>(into + done);
    z.stream.avail_out = room;
    const int state = inflate(&z.stream, Z_NO_FLUSH);
    const uInt made = room - z.stream.avail_out;
    done += made;
    z.given += made;
    if (state == Z_STREAM_END) {
      z.in_member = false;
    } else if (state != Z_OK && state != Z_BUF_ERROR) {
      fail_input(name_, ": the gzip stream is damaged after ", z.given, " expanded bytes (",
                 z.stream.msg != nullptr ? z.stream.msg : "unknown reason", ")");
    }
    limits_.check(name_, z.taken, z.given);
  }
  return done;
}

std::string ByteReader::read_rest() {
  std::string text;
  for (size_t end = 0;;) {
    // Grows with what the file contains, never with what a header claims.
    const size_t step = std::max(kInflatedAtOnce, end / 2);
    text.resize(end + step);
    const size_t found = read(text.data() + end, step);
    end += found;
    if (found < step) {
      text.resize(end);
      return text;
    }
  }
}

int64_t deflated_size(const std::string& bytes) {
  static const int64_t empty = stream_size("");
  return stream_size(bytes) - empty;
}

}  // namespace segre
