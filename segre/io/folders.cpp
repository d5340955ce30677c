#include "segre/io/folders.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "segre/io/files.h"

namespace segre {

namespace fs = std::filesystem;

void MadeFolders::make(const fs::path& path) {
  std::vector<fs::path> missing;
  std::error_code error;
  for (fs::path at = without_end_slash(path); !fs::exists(at, error) && !error; at = parent_of(at)) {
    missing.push_back(at);
    if (at == parent_of(at)) break;
  }
  if (error) throw FileError(path.string(), "cannot be made", error.value());
  for (size_t k = missing.size(); k-- > 0;) {
    Cleanup cleanup(missing[k], Cleanup::Kind::empty_folder);
    if (::mkdir(missing[k].c_str(), 0777) == 0) {
      made_.push_back(missing[k]);
      cleanups_.push_back(std::move(cleanup));
    } else if (const int code = errno; code != EEXIST || !fs::is_directory(missing[k], error)) {
      throw FileError(path.string(), "cannot be made", code);
    }
  }
  if (!fs::is_directory(path, error)) throw FileError(path.string(), "cannot be made", ENOTDIR);
}

void MadeFolders::keep() {
  cleanups_.clear();
  for (const fs::path& folder : std::exchange(made_, {})) sync_folder(parent_of(folder));
}

MadeFolders::~MadeFolders() {
  for (size_t k = made_.size(); k-- > 0;) ::rmdir(made_[k].c_str());
}

WholeFolder::WholeFolder(const fs::path& path) : name_(path.string()) {
  if (path.empty()) throw FileError::plain("''", "a folder name was expected", ENOENT);
  target_ = resolve_target(without_end_slash(path)).path;
  std::error_code error;
  exists_ = fs::exists(target_, error);
  if (exists_ && !fs::is_directory(target_, error))
    throw FileError::plain(name_, "already exists and is not a folder", ENOTDIR);
  if (exists_ && !fs::is_empty(target_, error) && !error)
    throw FileError::plain(name_, "already exists and is not empty, a new folder was expected", ENOTEMPTY);
  if (error && error != std::errc::no_such_file_or_directory) throw FileError(name_, "cannot be made", error.value());
  try {
    made_.make(parent_of(target_));
  } catch (const FileError& failed) {
    throw FileError(name_, "cannot be made", failed.code());
  }
  const fs::path beside = exists_ ? target_ / "new" : target_;
  while (temporary_.empty()) {
    const fs::path candidate = temporary_beside(beside);
    Cleanup cleanup(candidate, Cleanup::Kind::folder);
    if (::mkdir(candidate.c_str(), 0777) == 0) {
      temporary_ = candidate;
      cleanup_ = std::move(cleanup);
    } else if (errno != EEXIST) {
      throw FileError(name_, "cannot be made", errno);
    }
  }
}

WholeFolder::~WholeFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

void WholeFolder::move_into_target() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(temporary_)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) rename_file(file, target_ / file.filename());
  sync_folder(target_);
}

void WholeFolder::commit() {
  sync_folder(temporary_);
  if (exists_) {
    move_into_target();
    ::rmdir(temporary_.c_str());
  } else {
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) throw FileError(name_, "cannot be put in place", errno);
    temporary_.clear();
    cleanup_.forget();
    sync_folder(parent_of(target_));
  }
  temporary_.clear();
  cleanup_.forget();
  made_.keep();
}

void write_directory_whole(const fs::path& path, const std::function<void(const fs::path&)>& fill) {
  WholeFolder folder(path);
  fill(folder.path());
  folder.commit();
}

void probe_folder(const fs::path& folder, const std::string& name) {
  try {
    WholeFile(folder / "segre-probe").probe();
  } catch (const FileError& error) {
    throw FileError(name, "cannot be written", error.code());
  }
}

fs::path without_end_slash(const fs::path& path) {
  std::string text = path.string();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

}  // namespace segre
