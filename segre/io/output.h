#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "segre/io/files.h"
#include "segre/io/folders.h"

namespace segre {

/// Where results go, tried before the work and written after it. `option` is what the user gave the name with, "--out",
/// for messages. A name that cannot be written is an InputError; a full disk or a failing one an Error.

/// A file, or standard output for "-". See WholeFile for links, devices and pipes.
class OutputFile {
 public:
  OutputFile(std::string option, std::string name);

  /// Lets `fill` write the contents, and puts them in place.
  void write(const std::function<void(std::ostream&)>& fill);
  const std::string& name() const { return name_; }

 private:
  std::string option_;
  std::string name_;
  std::unique_ptr<WholeFile> file_;
};

/// A folder that results are added to, each file whole. It is made if it is missing, and goes again if nothing was put
/// into it.
class OutputFolder {
 public:
  /// `files` are the names to be written, none of which may be a folder.
  OutputFolder(const std::string& option, const std::string& name, const std::vector<std::string>& files = {});
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  MadeFolders made_;
};

/// A new or empty folder that is filled whole or not at all; see WholeFolder.
class NewOutputFolder {
 public:
  NewOutputFolder(std::string option, std::string name);

  /// Lets `fill` write into a folder, and puts it in place.
  void write(const std::function<void(const std::filesystem::path&)>& fill);
  const std::string& name() const { return name_; }

 private:
  std::string option_;
  std::string name_;
  std::unique_ptr<WholeFolder> folder_;
};

}  // namespace segre
