#include "segre/io/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "segre/core/error.h"

namespace segre {
namespace {

namespace fs = std::filesystem;

const std::string kTemporary = ".tmp-";
constexpr int kMostLinks = 40;  // the system's own limit
constexpr size_t kProbeBytes = 4096;

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

fs::path parent_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

// Follows links by hand: fs::canonical() requires the last link's target to exist, and links in /proc/self/fd do not
// name paths.
WriteTarget resolve_target(const fs::path& path) {
  fs::path at = path;
  std::error_code error;
  for (int links = 0; links <= kMostLinks; ++links) {
    const std::string name = at.filename().string();
    if (all_digits(name) && fs::canonical(parent_of(at), error) == fs::path(concat("/proc/", ::getpid(), "/fd"))) {
      int number = -1;
      std::from_chars(name.data(), name.data() + name.size(), number);
      return {at, number};
    }
    if (!fs::is_symlink(fs::symlink_status(at, error))) return {at};
    const fs::path to = fs::read_symlink(at, error);
    if (error) throw FileError(path.string(), "cannot be written", error.value());
    at = to.is_absolute() ? to : parent_of(at) / to;
  }
  throw FileError(path.string(), "cannot be written", ELOOP);
}

std::string read_file(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) fail_input(path.string(), ": is a directory, a file was expected");
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  const auto reason = [] { return errno != 0 ? std::strerror(errno) : "unknown reason"; };
  if (!in) fail_input(path.string(), ": cannot be opened (", reason(), ")");
  std::string contents{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (in.bad()) fail_input(path.string(), ": cannot be read (", reason(), ")");
  return contents;
}

WholeFile::WholeFile(const fs::path& path) : name_(path.string()) {
  if (path.empty()) throw FileError::plain("''", "a file name was expected", ENOENT);
  if (path.filename().empty()) throw FileError::plain(name_, "ends in a slash, a file was expected", EISDIR);
  const WriteTarget target = resolve_target(path);
  target_ = target.path;
  if (target.descriptor >= 0) {
    descriptor_ = Descriptor(::fcntl(target.descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!descriptor_) throw FileError(name_, "cannot be written", errno);
  } else {
    struct stat found {};
    const bool exists = ::stat(target_.c_str(), &found) == 0;
    if (!exists && errno != ENOENT) throw FileError(name_, "cannot be written", errno);
    if (exists && S_ISDIR(found.st_mode)) throw FileError::plain(name_, "is a directory, a file was expected", EISDIR);
    if (exists && !S_ISREG(found.st_mode)) {
      open_through(target_);
    } else {
      open_temporary();
    }
  }
  stream_ = std::make_unique<DescriptorStream>(descriptor_.number(), name_);
}

WholeFile::WholeFile(int descriptor, std::string name)
    : name_(std::move(name)), descriptor_(::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) {
  if (!descriptor_) throw FileError(name_, "cannot be written", errno);
  stream_ = std::make_unique<DescriptorStream>(descriptor_.number(), name_);
}

WholeFile::~WholeFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void WholeFile::open_through(const fs::path& path) {
  do {
    descriptor_ = Descriptor(::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
  } while (!descriptor_ && errno == EINTR);
  if (!descriptor_) throw FileError(name_, "cannot be written", errno);
}

void WholeFile::open_temporary() {
  struct stat old {};
  const bool replaces = ::stat(target_.c_str(), &old) == 0;
  // Renaming over a file does not need permission to write it; whoever removed that permission wants to keep the file.
  if (replaces && ::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0)
    throw FileError(name_, "cannot be written", errno);
  while (!descriptor_) {
    const fs::path candidate = temporary_beside(target_);
    Cleanup cleanup(candidate, Cleanup::Kind::file);
    descriptor_ = Descriptor(::open(candidate.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!descriptor_ && errno == EEXIST) continue;  // another thread was faster
    if (!descriptor_) throw FileError(name_, "cannot be written", errno);
    temporary_ = candidate;
    cleanup_ = std::move(cleanup);
  }
  if (!replaces) return;
  // Only a privileged user can change a file's owner. Group permissions are not passed on to another group.
  const int file = descriptor_.number();
  const bool same_group = ::fchown(file, old.st_uid, old.st_gid) == 0 || ::fchown(file, -1, old.st_gid) == 0;
  ::fchmod(file, old.st_mode & (same_group ? 0777U : 0707U));
}

void WholeFile::probe() {
  if (temporary_.empty()) {
    // Has no effect on pipes and terminals; fails on /dev/full and on descriptors that are not open for writing.
    if (::write(descriptor_.number(), "", 0) < 0) throw FileError(name_, "cannot be written", errno);
    return;
  }
  const std::array<char, kProbeBytes> block{};
  if (const int error = write_all(descriptor_.number(), block.data(), block.size()))
    throw FileError(name_, "cannot be written", error);
  if (::ftruncate(descriptor_.number(), 0) != 0 || ::lseek(descriptor_.number(), 0, SEEK_SET) != 0)
    throw FileError(name_, "cannot be written", errno);
}

void WholeFile::commit() {
  stream_->flush();
  const bool renames = !temporary_.empty();
  if (renames)
    if (const int error = sync_descriptor(descriptor_.number())) throw FileError(name_, "writing failed", error);
  if (const int error = descriptor_.close()) throw FileError(name_, "writing failed", error);
  if (!renames) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) throw FileError(name_, "cannot be put in place", errno);
  temporary_.clear();
  cleanup_.forget();
  sync_folder(parent_of(target_));
}

void WholeFile::write(const std::function<void(std::ostream&)>& fill) {
  try {
    fill(*stream_);
  } catch (const std::ios_base::failure&) {
    throw FileError(name_, "writing failed", 0);
  }
  commit();
}

void write_file_whole(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  WholeFile(path).write(write);
}

void rename_file(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) throw FileError(to.string(), "cannot be put in place", errno);
}

fs::path temporary_beside(const fs::path& path) {
  std::string name = path.filename().string();
  for (int number = 0;; ++number) {
    const std::string end = number == 0 ? concat(kTemporary, ::getpid()) : concat(kTemporary, ::getpid(), "-", number);
    const size_t most = NAME_MAX - 1 - end.size();
    if (name.size() > most) {
      size_t length = most;
      while (length > 0 && (static_cast<unsigned char>(name[length]) & 0xC0U) == 0x80U) --length;  // not inside UTF-8
      name.resize(length);
    }
    fs::path candidate = parent_of(path) / concat(".", name, end);
    struct stat found {};
    if (::lstat(candidate.c_str(), &found) != 0) return candidate;
  }
}

std::string temporary_for(const fs::path& path) {
  const std::string name = path.filename().string();
  const size_t at = name.rfind(kTemporary);
  if (!name.starts_with('.') || at == std::string::npos || at < 2) return "";
  const std::string end = name.substr(at + kTemporary.size());
  const size_t dash = end.find('-');
  const bool ours = all_digits(end.substr(0, dash)) && (dash == std::string::npos || all_digits(end.substr(dash + 1)));
  return ours ? name.substr(1, at - 1) : "";
}

nlohmann::json read_json(const std::filesystem::path& path) {
  try {
    return nlohmann::json::parse(read_file(path));
  } catch (const nlohmann::json::exception& error) {
    fail_input(path.string(), ": not valid JSON (", error.what(), ")");
  }
}

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
