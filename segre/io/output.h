#pragma once  // internal

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "segre/io/files.h"
#include "segre/io/folders.h"

namespace segre {

/// Where results go, tested before the work and written after it. `option` is the option that gave the name, "--out",
/// for messages. A name that cannot be written is an InputError; a full or failing disk is an Error.

/// A file, or standard output for "-". See WholeFile for links, devices and pipes.
class OutputFile {
 public:
  OutputFile(std::string option, std::string name);

  /// Lets `fill` write the contents, then moves them into place.
  void write(const std::function<void(std::ostream&)>& fill);
  const std::string& name() const { return name_; }

 private:
  std::string option_;
  std::string name_;
  std::unique_ptr<WholeFile> file_;
};

/// A folder that results are added to, each file complete or absent. It is created if missing, and removed again if
/// nothing was put into it.
class OutputFolder {
 public:
  /// `files` are the names to be written; none of them may be a folder.
  OutputFolder(const std::string& option, const std::string& name, const std::vector<std::string>& files = {});
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  MadeFolders made_;
};

/// A new or empty folder that is filled completely or not at all; see WholeFolder.
class NewOutputFolder {
 public:
  NewOutputFolder(std::string option, std::string name);

  /// Lets `fill` write into a folder, then moves it into place.
  void write(const std::function<void(const std::filesystem::path&)>& fill);
  const std::string& name() const { return name_; }

 private:
  std::string option_;
  std::string name_;
  std::unique_ptr<WholeFolder> folder_;
};

}  // namespace segre
