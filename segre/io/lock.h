#pragma once

#include <filesystem>
#include <string>

#include "segre/core/cleanup.h"
#include "segre/io/descriptor.h"

namespace segre {

/// A lock between processes that is released when its process ends, however that happens. Its file holds the process ID
/// and host, and is removed with the lock; a file left behind by a killed process locks nothing.
class ProcessLock {
 public:
  /// Acquires the lock of `file`; InputError if another process holds it: "WHAT: another process is writing it (process
  /// 123 on HOST); ...". On file systems without locks a warning goes to stderr.
  ProcessLock(std::filesystem::path file, const std::string& what);
  ~ProcessLock();
  ProcessLock(const ProcessLock&) = delete;
  ProcessLock& operator=(const ProcessLock&) = delete;

 private:
  bool take(const std::string& what);
  void sign(const std::string& what);

  std::filesystem::path file_;
  Descriptor descriptor_;
  Cleanup cleanup_;
};

}  // namespace segre
