#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

// What every fuzz target needs: files in memory for readers that take paths, and what counts as surviving.

namespace segre::fuzz {

/// A folder in memory (/dev/shm), removed at its end. Files stay open, so that writing one again takes
/// two system calls.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Gives a file these contents and returns its path; folders on the way are made.
  std::filesystem::path put(const std::string& name, const std::string& bytes);

 private:
  std::filesystem::path path_;
  std::map<std::string, int> files_;
};

/// Runs a reader on hostile input. It may succeed, or throw InputError with a message of one line; whatever else it
/// does is a finding: another exception, a message of several lines or of none.
void survive(const std::function<void()>& read);

/// Stops the process with a message unless the condition holds: a property of what was read is violated.
void require(bool condition, const char* what);

/// The pieces between lines that hold nothing but "====": several files in one input. At least `count` pieces, the last
/// ones empty where the input has fewer.
std::vector<std::string> sections(const std::string& input, size_t count);

/// The input behind its first byte, which chooses what to do with it.
struct Chosen {
  uint8_t choice;
  std::string rest;
};
Chosen choose(const uint8_t* data, size_t size);

}  // namespace segre::fuzz
