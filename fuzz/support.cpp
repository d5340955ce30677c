#include "fuzz/support.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "segre/core/error.h"

namespace segre::fuzz {

namespace fs = std::filesystem;

Folder::Folder() {
  static int number = 0;
  path_ = fs::path("/dev/shm") / concat("segre-fuzz-", ::getpid(), "-", number++);
  fs::create_directories(path_);
}

Folder::~Folder() {
  for (const auto& [name, file] : files_) ::close(file);
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path Folder::put(const std::string& name, const std::string& bytes) {
  const fs::path path = path_ / name;
  auto [at, is_new] = files_.try_emplace(name, -1);
  if (is_new) {
    fs::create_directories(path.parent_path());
    at->second = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  }
  const bool written = ::ftruncate(at->second, 0) == 0 &&
                       ::pwrite(at->second, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
  require(written, "a file in /dev/shm can be written");
  return path;
}

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

void survive(const std::function<void()>& read) {
  try {
    read();
  } catch (const InputError& error) {
    const std::string message = error.what();
    require(!message.empty(), "an error has a message");
    require(message.find('\n') == std::string::npos, "a message is one line");
  }
}

std::vector<std::string> sections(const std::string& input, size_t count) {
  static const std::string kMark = "\n====\n";
  std::vector<std::string> pieces;
  size_t start = 0;
  while (pieces.size() + 1 < count) {
    const size_t end = input.find(kMark, start);
    if (end == std::string::npos) break;
    pieces.push_back(input.substr(start, end - start));
    start = end + kMark.size();
  }
  pieces.push_back(input.substr(start));
  pieces.resize(count);
  return pieces;
}

Chosen choose(const uint8_t* data, size_t size) {
  if (size == 0) return {0, ""};
  return {data[0], std::string(reinterpret_cast<const char*>(data) + 1, size - 1)};
}

}  // namespace segre::fuzz
