#include "segre/io/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace segre {

AppendFile::AppendFile(std::filesystem::path path) : path_(std::move(path)) {
  descriptor_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!descriptor_) throw FileError(path_.string(), "cannot be written", errno);
}

void AppendFile::append(std::string_view bytes) {
  struct stat before {};
  if (::fstat(descriptor_.number(), &before) != 0) throw FileError(path_.string(), "writing failed", errno);
  const int error = write_all(descriptor_.number(), bytes.data(), bytes.size());
  if (error == 0) {
    torn_ = false;
    return;
  }
  struct stat after {};
  const bool whole = ::fstat(descriptor_.number(), &after) == 0 && after.st_size == before.st_size;
  if (!whole && ::ftruncate(descriptor_.number(), before.st_size) != 0) torn_ = true;
  throw FileError(path_.string(), "writing failed", error);
}

}  // namespace segre
