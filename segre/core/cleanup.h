#pragma once  // internal

#include <filesystem>

namespace segre {

/// Something on disk that must not outlive the program: while this object lives, a signal that ends the program (see
/// interrupt.h) removes it. The destructor only forgets it; removing it in normal operation is up to the owner.
class Cleanup {
 public:
  enum class Kind {
    file,
    folder,        ///< with the files in it, one level deep
    empty_folder,  ///< removed only if still empty
  };

  Cleanup() = default;
  Cleanup(const std::filesystem::path& path, Kind kind);
  ~Cleanup() { forget(); }
  Cleanup(Cleanup&& other) noexcept : slot_(other.slot_) { other.slot_ = -1; }
  Cleanup& operator=(Cleanup&& other) noexcept;

  /// Leaves it on disk from now on.
  void forget();

 private:
  int slot_ = -1;
};

/// Removes everything registered. Makes system calls only, so a signal handler may call it.
void remove_registered();

}  // namespace segre
