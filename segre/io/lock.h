#pragma once  // internal

#include <filesystem>
#include <string>

#include "segre/core/cleanup.h"
#include "segre/io/descriptor.h"

namespace segre {

/// A lock between processes that is released when its process ends, however that happens. Its file holds the process ID
/// and host, and is removed with the lock; a file left behind by a killed process locks nothing.
class ProcessLock {
 public:
  /// What to do if another process holds the lock.
  enum class Held { refuse, wait };

  /// Acquires the lock of `file`. If another process holds it, waits for that with a note, or InputError: "WHAT:
  /// another process is writing it (process 123 on HOST); ...". On file systems without locks a warning goes to the
  /// log.
  ProcessLock(std::filesystem::path file, const std::string& what, Held held = Held::refuse);
  ~ProcessLock();
  ProcessLock(const ProcessLock&) = delete;
  ProcessLock& operator=(const ProcessLock&) = delete;

 private:
  bool take(const std::string& what, Held held);
  void wait(const std::string& what);
  void sign(const std::string& what);

  std::filesystem::path file_;
  Descriptor descriptor_;
  Cleanup cleanup_;
  bool has_waited_ = false;
};

}  // namespace segre
