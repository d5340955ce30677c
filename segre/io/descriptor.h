#pragma once  // internal

#include <array>
#include <filesystem>
#include <ostream>
#include <streambuf>
#include <string>

#include "segre/core/error.h"

namespace segre {

/// A system call on a file failed; `code` is its errno.
class FileError : public Error {
 public:
  /// The message is "NAME: WHAT (REASON)", the reason being the system's text for `code`.
  FileError(const std::string& name, const std::string& what, int code);
  /// The message is "NAME: WHAT".
  static FileError plain(const std::string& name, const std::string& what, int code);
  int code() const { return code_; }

 private:
  FileError(const std::string& message, int code) : Error(message), code_(code) {}
  int code_;
};

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;

  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  /// Closes it; returns 0 or the errno: a network file system may report only here that a file is too large.
  int close();

 private:
  int number_;
};

/// Writes all bytes; returns 0 or the errno.
int write_all(int descriptor, const char* bytes, size_t count);

/// Flushes a file's contents to disk; returns 0 or the errno. What cannot be synced at all (a pipe) counts as synced.
int sync_descriptor(int descriptor);

/// Flushes a folder's entries to disk, so that a new name survives a power failure. Error if that fails; file systems
/// that do not sync folders, and folders that are writable but not readable, are accepted.
void sync_folder(const std::filesystem::path& folder);

/// An ostream that writes to a descriptor. A failed write throws FileError at once, from the operator<< that hit it.
class DescriptorStream : private std::streambuf, public std::ostream {
 public:
  /// `name` is the file name in messages.
  DescriptorStream(int descriptor, std::string name);
  DescriptorStream(const DescriptorStream&) = delete;
  DescriptorStream& operator=(const DescriptorStream&) = delete;

 private:
  int overflow(int byte) override;
  std::streamsize xsputn(const char* bytes, std::streamsize count) override;
  int sync() override;
  void put(const char* bytes, size_t count);

  int descriptor_;
  std::string name_;
  std::array<char, 1 << 16> buffer_;
};

}  // namespace segre
