#include "segre/io/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "segre/core/error.h"

namespace segre {
namespace {

namespace fs = std::filesystem;

const char* const kTemporary = ".tmp-";

std::string reason() { return errno != 0 ? std::strerror(errno) : "unknown reason"; }

void sync(const fs::path& path, int flags) {
  const int fd = ::open(path.c_str(), flags);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

// Where a path's directory entry lives.
fs::path parent_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

fs::path temporary_beside(const fs::path& path) {
  return parent_of(path) / concat(".", path.filename().string(), kTemporary, ::getpid());
}

}  // namespace

std::string read_file(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) fail_input(path.string(), ": is a directory, a file was expected");
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) fail_input(path.string(), ": cannot be opened (", reason(), ")");
  std::string contents{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (in.bad()) fail_input(path.string(), ": cannot be read (", reason(), ")");
  return contents;
}

void write_file_whole(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  const fs::path temporary = temporary_beside(path);
  try {
    errno = 0;
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    if (!out) fail(path.string(), ": cannot be written (", reason(), ")");
    write(out);
    out.flush();
    if (!out) fail(path.string(), ": writing failed (", reason(), ")");
    out.close();
    sync(temporary, O_WRONLY);
    std::error_code error;
    fs::rename(temporary, path, error);
    if (error) fail(path.string(), ": cannot be put in place (", error.message(), ")");
    sync(parent_of(path), O_RDONLY | O_DIRECTORY);
  } catch (...) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw;
  }
}

void write_directory_whole(const fs::path& path, const std::function<void(const fs::path&)>& fill) {
  const fs::path temporary = temporary_beside(path);
  std::error_code error;
  try {
    fs::remove_all(temporary, error);
    fs::create_directories(temporary, error);
    if (error) fail(path.string(), ": cannot be made (", error.message(), ")");
    fill(temporary);
    sync(temporary, O_RDONLY | O_DIRECTORY);
    fs::rename(temporary, path, error);
    if (error) fail(path.string(), ": cannot be put in place (", error.message(), ")");
    sync(parent_of(path), O_RDONLY | O_DIRECTORY);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    throw;
  }
}

bool is_temporary(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with(".") && name.find(kTemporary) != std::string::npos;
}

}  // namespace segre
