#include "segre/io/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace segre {

FileError::FileError(const std::string& name, const std::string& what, int code)
    : FileError(concat(name, ": ", what, " (", code != 0 ? std::strerror(code) : "unknown reason", ")"), code) {}

FileError FileError::plain(const std::string& name, const std::string& what, int code) {
  return {concat(name, ": ", what), code};
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    number_ = std::exchange(other.number_, -1);
  }
  return *this;
}

int Descriptor::close() {
  if (number_ < 0) return 0;
  // Linux closes it even if a signal interrupts the call; closing it again might close another thread's file.
  return ::close(std::exchange(number_, -1)) == 0 || errno == EINTR ? 0 : errno;
}

int write_all(int descriptor, const char* bytes, size_t count) {
  while (count > 0) {
    const ssize_t written = ::write(descriptor, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes += written;
    count -= static_cast<size_t>(written);
  }
  return 0;
}

int sync_descriptor(int descriptor) {
  int result = 0;
  do {
    result = ::fsync(descriptor);
  } while (result != 0 && errno == EINTR);
  return result == 0 || errno == EINVAL || errno == ENOTSUP || errno == ENOSYS ? 0 : errno;
}

void sync_folder(const std::filesystem::path& folder) {
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened && errno == EACCES) return;
  const int error = opened ? sync_descriptor(opened.number()) : errno;
  if (error != 0) throw FileError(folder.string(), "cannot be synced to disk", error);
}

DescriptorStream::DescriptorStream(int descriptor, std::string name)
    : std::ostream(static_cast<std::streambuf*>(this)), descriptor_(descriptor), name_(std::move(name)) {
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  exceptions(std::ios::badbit);
}

void DescriptorStream::put(const char* bytes, size_t count) {
  if (const int error = write_all(descriptor_, bytes, count)) throw FileError(name_, "writing failed", error);
}

int DescriptorStream::sync() {
  const auto count = static_cast<size_t>(pptr() - pbase());
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  put(buffer_.data(), count);
  return 0;
}

int DescriptorStream::overflow(int byte) {
  sync();
  if (byte != std::char_traits<char>::eof()) {
    *pptr() = static_cast<char>(byte);
    pbump(1);
  }
  return std::char_traits<char>::not_eof(byte);
}

std::streamsize DescriptorStream::xsputn(const char* bytes, std::streamsize count) {
  if (count <= 0) return 0;  // an empty tensor has no address
  if (count > epptr() - pptr()) sync();
  if (count > epptr() - pptr()) {
    put(bytes, static_cast<size_t>(count));  // large: bypasses the buffer
  } else {
    std::memcpy(pptr(), bytes, static_cast<size_t>(count));
    pbump(static_cast<int>(count));
  }
  return count;
}

}  // namespace segre
