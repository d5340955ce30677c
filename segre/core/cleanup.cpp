#include "segre/core/cleanup.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

namespace segre {
namespace {

constexpr size_t kSlots = 64;
constexpr size_t kMostBytes = 4096;  // PATH_MAX of Linux
constexpr int kTries = 100;          // another thread may still add files to a folder that is being removed

enum SlotState : int { kFree, kBeingSet, kSet };

// Plain memory and lock-free atomics: a signal handler may read it at any time.
struct Slot {
  std::atomic<int> state{kFree};
  Cleanup::Kind kind{};
  std::array<char, kMostBytes> path{};
};
static_assert(std::atomic<int>::is_always_lock_free);
std::array<Slot, kSlots> g_slots;

// The kernel's record of a directory entry (linux_dirent64, which has no header); readdir() may take a lock.
struct Entry {
  uint64_t inode;
  int64_t next;
  uint16_t bytes;
  uint8_t type;
  char name[1];
};

void remove_files_in(int folder) {
  alignas(Entry) char buffer[8192];
  for (;;) {
    const auto count = ::syscall(SYS_getdents64, folder, buffer, sizeof buffer);
    if (count <= 0) return;
    for (int64_t at = 0; at < count;) {
      const auto* entry = reinterpret_cast<const Entry*>(buffer + at);
      const char* name = buffer + at + offsetof(Entry, name);
      if (std::strcmp(name, ".") != 0 && std::strcmp(name, "..") != 0) ::unlinkat(folder, name, 0);
      at += entry->bytes;
    }
  }
}

void remove_folder(const char* path) {
  for (int k = 0; k < kTries; ++k) {
    const int folder = ::open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) return;
    remove_files_in(folder);
    ::close(folder);
    if (::rmdir(path) == 0 || (errno != ENOTEMPTY && errno != EEXIST)) return;
  }
}

void remove_all_of(Cleanup::Kind kind) {
  // Last made, first removed.
  for (size_t k = kSlots; k-- > 0;) {
    const Slot& slot = g_slots[k];
    if (slot.state != kSet || slot.kind != kind) continue;
    if (kind == Cleanup::Kind::file) {
      ::unlink(slot.path.data());
    } else if (kind == Cleanup::Kind::folder) {
      remove_folder(slot.path.data());
    } else {
      ::rmdir(slot.path.data());
    }
  }
}

}  // namespace

Cleanup::Cleanup(const std::filesystem::path& path, Kind kind) {
  const std::string& text = path.native();
  if (text.size() >= kMostBytes) return;
  for (size_t k = 0; k < kSlots; ++k) {
    int expected = kFree;
    if (!g_slots[k].state.compare_exchange_strong(expected, kBeingSet)) continue;
    g_slots[k].kind = kind;
    std::memcpy(g_slots[k].path.data(), text.c_str(), text.size() + 1);
    g_slots[k].state = kSet;
    slot_ = static_cast<int>(k);
    return;
  }
}

Cleanup& Cleanup::operator=(Cleanup&& other) noexcept {
  if (this != &other) {
    forget();
    slot_ = std::exchange(other.slot_, -1);
  }
  return *this;
}

void Cleanup::forget() {
  if (slot_ >= 0) g_slots[static_cast<size_t>(slot_)].state = kFree;
  slot_ = -1;
}

void remove_registered() {
  remove_all_of(Cleanup::Kind::file);
  remove_all_of(Cleanup::Kind::folder);
  for (size_t depth = 0; depth < kSlots; ++depth) remove_all_of(Cleanup::Kind::empty_folder);
}

}  // namespace segre
