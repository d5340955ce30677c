#include "segre/io/output.h"

#include <unistd.h>

#include <cerrno>
#include <iostream>

namespace segre {
namespace {

namespace fs = std::filesystem;

// Whether an error is the name's fault, not the machine's.
bool is_users(int code) {
  for (const int known : {ENOENT, ENOTDIR, EISDIR, ENOTEMPTY, EEXIST, EACCES, EPERM, EROFS, ENAMETOOLONG, ELOOP, EBADF,
                          ENXIO, EINVAL, ETXTBSY})
    if (code == known) return true;
  return false;
}

template <class Action>
auto with_option(const std::string& option, Action&& action) {
  try {
    return action();
  } catch (const FileError& error) {
    if (is_users(error.code())) fail_input(option, " ", error.what());
    fail(option, " ", error.what());
  }
}

void check_folder_name(const std::string& option, const std::string& name) {
  if (name.empty()) fail_input(option, " '': a folder was expected");
  if (name == "-") fail_input(option, " -: a folder was expected; standard output holds one file only");
}

}  // namespace

OutputFile::OutputFile(std::string option, std::string name) : option_(std::move(option)), name_(std::move(name)) {
  with_option(option_, [&] {
    if (name_ == "-") {
      std::cout.flush();
      file_ = std::make_unique<WholeFile>(STDOUT_FILENO, "- (standard output)");
    } else {
      file_ = std::make_unique<WholeFile>(name_);
    }
    file_->probe();
  });
}

void OutputFile::write(const std::function<void(std::ostream&)>& fill) {
  if (name_ == "-") std::cout.flush();
  file_->write(fill);
}

OutputFolder::OutputFolder(const std::string& option, const std::string& name, const std::vector<std::string>& files)
    : path_(without_end_slash(name)) {
  check_folder_name(option, name);
  std::error_code ignored;
  if (fs::exists(path_, ignored) && !fs::is_directory(path_, ignored))
    fail_input(option, " ", name, ": already exists and is not a folder");
  with_option(option, [&] {
    made_.make(path_);
    probe_folder(path_, name);
    for (const std::string& file : files)
      if (fs::is_directory(path_ / file, ignored))
        throw FileError::plain((path_ / file).string(), "is a directory, a file was expected", EISDIR);
  });
}

NewOutputFolder::NewOutputFolder(std::string option, std::string name)
    : option_(std::move(option)), name_(std::move(name)) {
  check_folder_name(option_, name_);
  with_option(option_, [&] {
    folder_ = std::make_unique<WholeFolder>(name_);
    probe_folder(folder_->path(), name_);
  });
}

void NewOutputFolder::write(const std::function<void(const fs::path&)>& fill) {
  fill(folder_->path());
  folder_->commit();
}

}  // namespace segre
