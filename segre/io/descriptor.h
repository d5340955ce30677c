#pragma once

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
  /// The message is "NAME: WHAT (REASON)", the reason being the system's word for `code`.
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
  /// Closes it; 0, or the errno: a file on a network may be found too large only here.
  int close();

 private:
  int number_;
};

/// Writes all bytes; 0, or the errno.
int write_all(int descriptor, const char* bytes, size_t count);

/// Has the system put a file's contents on the disk; 0, or the errno. What cannot be synced at all (a pipe) counts as
/// synced.
int sync_descriptor(int descriptor);

/// Has the system put a folder's entries on the disk, so that a new name survives a power failure. Error if that fails;
/// file systems that do not sync folders, and folders that may be written but not read, are let pass.
void sync_folder(const std::filesystem::path& folder);

/// An ostream onto a descriptor. A failed write throws FileError at once, out of the operator<< that met it.
class DescriptorStream : private std::streambuf, public std::ostream {
 public:
  /// `name` is the file's, for messages.
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
