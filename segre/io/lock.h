#pragma once

#include <filesystem>
#include <string>

#include "segre/core/cleanup.h"
#include "segre/io/descriptor.h"

namespace segre {

/// A lock between processes that dies with its process, however that ends. Its file holds the process's number and
/// machine, and is removed with the lock; one that a killed process left behind locks nothing.
class ProcessLock {
 public:
  /// Takes the lock whose file is `file`; InputError if another process has it: "WHAT: another process is writing it
  /// (process 123 on HOST); ...". On file systems without locks a warning goes to stderr.
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
