#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

// What every fuzz target needs: files in memory for readers that take paths, and the definition of surviving.

namespace segre::fuzz {

/// A folder in memory (/dev/shm), removed on destruction. Files stay open, so that rewriting one takes only two system
/// calls.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Gives a file these contents and returns its path; creates parent folders.
  std::filesystem::path put(const std::string& name, const std::string& bytes);

 private:
  std::filesystem::path path_;
  std::map<std::string, int> files_;
};

/// Runs a reader on hostile input. It may succeed, or throw InputError with a one-line message; anything else is a
/// finding: another exception, an empty message or one of several lines.
void survive(const std::function<void()>& read);

/// Aborts the process with a message unless the condition holds: a property of what was read is violated.
void require(bool condition, const char* what);

/// The pieces between lines that contain only "====": several files in one input. Exactly `count` pieces, the last ones
/// empty if the input has fewer.
std::vector<std::string> sections(const std::string& input, size_t count);

/// The input after its first byte, which chooses what to do with it.
struct Chosen {
  uint8_t choice;
  std::string rest;
};
Chosen choose(const uint8_t* data, size_t size);

}  // namespace segre::fuzz
