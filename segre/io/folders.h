#pragma once  // internal

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "segre/core/cleanup.h"

namespace segre {

/// Folders created on the way to one that is needed: unless kept, those still empty are removed again.
class MadeFolders {
 public:
  MadeFolders() = default;
  ~MadeFolders();
  MadeFolders(const MadeFolders&) = delete;
  MadeFolders& operator=(const MadeFolders&) = delete;
  /// Creates a folder and its missing parents; FileError if that fails.
  void make(const std::filesystem::path& path);
  /// Keeps them and syncs their names to disk.
  void keep();

 private:
  std::vector<std::filesystem::path> made_;  // outermost first
  std::vector<Cleanup> cleanups_;
};

/// A folder of files that appears complete or not at all: filled under a temporary name, synced and renamed by
/// commit(). The target must be absent or empty. If it exists it is not replaced: the files are moved into it one by
/// one once all are complete. Whoever writes the files syncs them.
class WholeFolder {
 public:
  /// FileError names the path and the reason if it cannot be created, is not a folder or is not empty.
  explicit WholeFolder(const std::filesystem::path& path);
  ~WholeFolder();
  WholeFolder(const WholeFolder&) = delete;
  WholeFolder& operator=(const WholeFolder&) = delete;

  /// The folder to write into.
  const std::filesystem::path& path() const { return temporary_; }
  void commit();

 private:
  void move_into_target();

  std::string name_;
  std::filesystem::path target_;
  bool exists_ = false;
  MadeFolders made_;
  std::filesystem::path temporary_;
  Cleanup cleanup_;
};

/// Writes a folder through WholeFolder.
void write_directory_whole(const std::filesystem::path& path,
                           const std::function<void(const std::filesystem::path&)>& fill);

/// Tests whether files can be written into a folder, without leaving a trace; FileError names `name` if not.
void probe_folder(const std::filesystem::path& folder, const std::string& name);

/// `path` without trailing slashes.
std::filesystem::path without_end_slash(const std::filesystem::path& path);

}  // namespace segre
