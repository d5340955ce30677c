#include "tests/crash/faults.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

enum class Kind { none, kill, torn, enospc, full, eio };

char g_under[PATH_MAX] = "";
std::atomic<long> g_at{0};
std::atomic<long> g_count{0};
std::atomic<bool> g_disk_full{false};
std::atomic<int> g_next_write{0};  // errno of the write that follows a short one
Kind g_kind = Kind::none;
int g_log = -1;

template <class F>
F* real(const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

Kind kind_of(const char* name) {
  const struct {
    const char* name;
    Kind kind;
  } kinds[] = {
      {"kill", Kind::kill}, {"torn", Kind::torn}, {"ENOSPC", Kind::enospc}, {"full", Kind::full}, {"EIO", Kind::eio}};
  for (const auto& entry : kinds)
    if (name != nullptr && std::strcmp(name, entry.name) == 0) return entry.kind;
  return Kind::none;
}

// The path of a descriptor, or of a name relative to one.
void path_of(int folder, const char* name, char (&out)[PATH_MAX]) {
  if (name != nullptr && (name[0] == '/' || folder == AT_FDCWD)) {
    std::snprintf(out, sizeof out, "%s", name);
    return;
  }
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
  ssize_t length = ::readlink(link, out, sizeof out - 1);
  if (length < 0) length = 0;
  out[length] = '\0';
  if (name != nullptr) std::snprintf(out + length, sizeof out - static_cast<size_t>(length), "/%s", name);
}

void die() { ::kill(::getpid(), SIGKILL); }

// What happens to a call.
struct Fate {
  bool cut = false;        // only half of a write is done
  bool die_after = false;  // after the call
  int error = 0;
};

// `needs_space`: whether a full disk can refuse it.
Fate fate_of(const char* call, int folder, const char* name, bool needs_space) {
  if (g_under[0] == '\0') return {};
  const int kept = errno;
  char path[PATH_MAX];
  path_of(folder, name, path);
  errno = kept;
  const size_t length = std::strlen(g_under);
  if (std::strncmp(path, g_under, length) != 0 || (path[length] != '/' && path[length] != '\0')) return {};
  const bool is_write = std::strcmp(call, "write") == 0;
  if (is_write && g_next_write != 0) return {.error = g_next_write.exchange(0)};
  if (g_disk_full && needs_space) return {.error = ENOSPC};
  const long number = ++g_count;
  if (g_log >= 0) ::dprintf(g_log, "%ld %s %s\n", number, call, path + length);
  if (number != g_at) return {};
  switch (g_kind) {
    case Kind::kill:
      die();
      return {};
    case Kind::torn:
      return {.cut = is_write, .die_after = true};
    case Kind::full:
      g_disk_full = true;
      [[fallthrough]];
    case Kind::enospc:
      if (!needs_space) return {};
      if (is_write) g_next_write = ENOSPC;
      return is_write ? Fate{.cut = true} : Fate{.error = ENOSPC};
    case Kind::eio:
      if (is_write) g_next_write = EIO;
      return is_write ? Fate{.cut = true} : Fate{.error = EIO};
    default:
      return {};
  }
}

template <class Call>
int meet(const Fate& fate, Call&& call) {
  if (fate.error != 0) {
    errno = fate.error;
    return -1;
  }
  const int result = call();
  if (fate.die_after) die();
  return result;
}

int open_any(const char* real_name, int folder, const char* path, int flags, mode_t mode) {
  const bool makes = (flags & O_CREAT) != 0;
  const Fate fate = fate_of(makes ? "create" : "open", folder, path, makes);
  return meet(fate, [&] { return real<int(int, const char*, int, ...)>(real_name)(folder, path, flags, mode); });
}

// Arms itself from the environment when preloaded.
__attribute__((constructor)) void arm_by_environment() {
  const char* under = std::getenv("SEGRE_FAULT_UNDER");
  const char* at = std::getenv("SEGRE_FAULT_AT");
  if (under != nullptr)
    segre_arm_faults(under, at != nullptr ? std::atol(at) : 0, std::getenv("SEGRE_FAULT_KIND"),
                     std::getenv("SEGRE_FAULT_LOG"));
}

mode_t mode_of(int flags, va_list& arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" {

void segre_arm_faults(const char* under, long at, const char* kind, const char* log) {
  g_under[0] = '\0';
  g_count = 0;
  g_at = at;
  g_kind = kind_of(kind);
  g_disk_full = false;
  g_next_write = 0;
  if (log != nullptr) g_log = ::open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  std::snprintf(g_under, sizeof g_under, "%s", under);
}

long segre_counted_calls() { return g_count; }

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_any("openat", AT_FDCWD, path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_any("openat64", AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_any("openat", folder, path, flags, mode);
}

int openat64(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_any("openat64", folder, path, flags, mode);
}

ssize_t write(int descriptor, const void* bytes, size_t count) {
  const Fate fate = fate_of("write", descriptor, nullptr, true);
  if (fate.error != 0) {
    errno = fate.error;
    return -1;
  }
  const size_t done = fate.cut && count > 1 ? count / 2 : count;
  const ssize_t result = real<ssize_t(int, const void*, size_t)>("write")(descriptor, bytes, done);
  if (fate.die_after) die();
  return result;
}

int fsync(int descriptor) {
  const Fate fate = fate_of("fsync", descriptor, nullptr, true);
  return meet(fate, [&] { return real<int(int)>("fsync")(descriptor); });
}

int ftruncate(int descriptor, off_t length) noexcept {
  const Fate fate = fate_of("ftruncate", descriptor, nullptr, false);
  return meet(fate, [&] { return real<int(int, off_t)>("ftruncate")(descriptor, length); });
}

int ftruncate64(int descriptor, off64_t length) noexcept {
  const Fate fate = fate_of("ftruncate", descriptor, nullptr, false);
  return meet(fate, [&] { return real<int(int, off64_t)>("ftruncate64")(descriptor, length); });
}

int flock(int descriptor, int operation) noexcept {
  const Fate fate = fate_of("flock", descriptor, nullptr, false);
  return meet(fate, [&] { return real<int(int, int)>("flock")(descriptor, operation); });
}

// A failing close still closes the descriptor.
int close(int descriptor) {
  const Fate fate = fate_of("close", descriptor, nullptr, true);
  const int result = real<int(int)>("close")(descriptor);
  if (fate.die_after) die();
  if (fate.error == 0) return result;
  errno = fate.error;
  return -1;
}

int rename(const char* from, const char* to) noexcept {
  const Fate fate = fate_of("rename", AT_FDCWD, to, true);
  return meet(fate, [&] { return real<int(const char*, const char*)>("rename")(from, to); });
}

int mkdir(const char* path, mode_t mode) noexcept {
  const Fate fate = fate_of("mkdir", AT_FDCWD, path, true);
  return meet(fate, [&] { return real<int(const char*, mode_t)>("mkdir")(path, mode); });
}

int rmdir(const char* path) noexcept {
  const Fate fate = fate_of("rmdir", AT_FDCWD, path, false);
  return meet(fate, [&] { return real<int(const char*)>("rmdir")(path); });
}

int unlink(const char* path) noexcept {
  const Fate fate = fate_of("unlink", AT_FDCWD, path, false);
  return meet(fate, [&] { return real<int(const char*)>("unlink")(path); });
}

int unlinkat(int folder, const char* name, int flags) noexcept {
  const Fate fate = fate_of("unlink", folder, name, false);
  return meet(fate, [&] { return real<int(int, const char*, int)>("unlinkat")(folder, name, flags); });
}

int remove(const char* path) noexcept {
  const Fate fate = fate_of("remove", AT_FDCWD, path, false);
  return meet(fate, [&] { return real<int(const char*)>("remove")(path); });
}
}
