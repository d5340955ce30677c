#include "segre/io/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "segre/core/log.h"

namespace segre {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// " (process 123 on HOST)" as written by the lock's owner; "" if not yet written.
std::string owner(int descriptor) {
  std::array<char, 300> text{};
  if (::pread(descriptor, text.data(), text.size() - 1, 0) <= 0) return "";
  const std::string line = text.data();
  return concat(" (", line.substr(0, line.find('\n')), ")");
}

// Whether the name still refers to the opened file: its last owner may have removed it in between.
bool is_same(int descriptor, const std::filesystem::path& file) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(descriptor, &opened) == 0 && ::stat(file.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

}  // namespace

ProcessLock::ProcessLock(std::filesystem::path file, const std::string& what, Held held) : file_(std::move(file)) {
  while (!take(what, held)) {
  }
}

// Until the owner releases the lock. It removes the file with it, so that the lock has to be taken anew.
void ProcessLock::wait(const std::string& what) {
  if (!std::exchange(has_waited_, true)) note(what, ": waiting for another process", owner(descriptor_.number()));
  while (::flock(descriptor_.number(), LOCK_EX) != 0 && errno == EINTR) {
  }
}

// False: to be tried again.
bool ProcessLock::take(const std::string& what, Held held) {
  descriptor_ = Descriptor(::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!descriptor_) throw FileError(file_.string(), "cannot be written", errno);
  if (::flock(descriptor_.number(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) return false;
    if (errno == EWOULDBLOCK && held == Held::wait) {
      wait(what);
      return false;
    }
    if (errno == EWOULDBLOCK)
      fail_input(what, ": another process is writing it", owner(descriptor_.number()),
                 "; wait until it ends, or choose another folder");
    log_stream() << FileError(what, "cannot be locked; make sure no other process writes to it", errno).what() << '\n';
  } else if (!is_same(descriptor_.number(), file_)) {
    return false;
  }
  cleanup_ = Cleanup(file_, Cleanup::Kind::file);
  sign(what);
  return true;
}

void ProcessLock::sign(const std::string& what) {
  const std::string line = concat("process ", ::getpid(), " on ", host_name(), "\n");
  int error = ::ftruncate(descriptor_.number(), 0) == 0 ? 0 : errno;
  if (error == 0) error = write_all(descriptor_.number(), line.data(), line.size());
  if (error == 0) return;
  ::unlink(file_.c_str());
  throw FileError(what, "cannot be written", error);
}

ProcessLock::~ProcessLock() {
  if (descriptor_) ::unlink(file_.c_str());  // while it is still ours
}

}  // namespace segre
