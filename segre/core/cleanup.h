#pragma once

#include <filesystem>

namespace segre {

/// Something on disk that must not outlive the program: a signal that ends the program (see interrupt.h) removes it
/// while this object lives. The destructor only forgets it; removing it in the ordinary course is the owner's task.
class Cleanup {
 public:
  enum class Kind {
    file,
    folder,        ///< with the files in it, one level deep
    empty_folder,  ///< goes only if it is still empty
  };

  Cleanup() = default;
  Cleanup(const std::filesystem::path& path, Kind kind);
  ~Cleanup() { forget(); }
  Cleanup(Cleanup&& other) noexcept : slot_(other.slot_) { other.slot_ = -1; }
  Cleanup& operator=(Cleanup&& other) noexcept;

  /// The thing stays from here on.
  void forget();

 private:
  int slot_ = -1;
};

/// Removes everything registered. Makes system calls only, so a signal handler may call it.
void remove_registered();

}  // namespace segre
