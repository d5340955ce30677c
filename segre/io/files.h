#pragma once  // internal

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <string_view>

#include "segre/core/cleanup.h"
#include "segre/io/descriptor.h"

namespace segre {

/// Reads a whole file; InputError names the file and the reason if that fails.
std::string read_file(const std::filesystem::path& path);

/// A file that appears complete or not at all: it is written under a temporary name beside the target, which commit()
/// syncs to disk and renames. Until then, and if anything fails, the target keeps its old contents. A symbolic link is
/// kept and the file it points to replaced; an existing file keeps its mode. A device, a pipe or one of the program's
/// own descriptors (/dev/stdout) is written to directly instead of being replaced.
class WholeFile {
 public:
  /// FileError names the path and the reason if it cannot be written. Opening a pipe waits for its reader.
  explicit WholeFile(const std::filesystem::path& path);
  /// Writes directly to a copy of a descriptor, such as standard output.
  WholeFile(int descriptor, std::string name);
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  /// Tests whether anything can be written, without leaving a trace; FileError if the disk is full.
  void probe();
  /// Where the contents go; a failed write throws FileError at once.
  std::ostream& stream() { return *stream_; }
  /// Moves the contents into place; FileError if any step fails. If only the last step fails, the sync of the folder,
  /// the new file is in place but may not survive a power failure.
  void commit();
  /// Lets `fill` write the contents, then commits.
  void write(const std::function<void(std::ostream&)>& fill);

 private:
  void open_through(const std::filesystem::path& path);
  void open_temporary();

  std::string name_;                 // as given, for messages
  std::filesystem::path target_;     // links resolved
  std::filesystem::path temporary_;  // empty: written directly
  Cleanup cleanup_;
  Descriptor descriptor_;
  std::unique_ptr<DescriptorStream> stream_;
};

/// Writes a file through WholeFile.
void write_file_whole(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);

/// Renames; FileError names the target if that fails.
void rename_file(const std::filesystem::path& from, const std::filesystem::path& to);

/// An unused name beside `path` for unfinished contents: .NAME.tmp-PID or .NAME.tmp-PID-NUMBER, where PID is this
/// process's. A long NAME is shortened to what file systems accept.
std::filesystem::path temporary_beside(const std::filesystem::path& path);

/// The NAME in the name of such a temporary, which a crash may leave behind; empty if `path` is not named like one.
std::string temporary_for(const std::filesystem::path& path);

/// Where a path's directory entry lives: its parent, or "." for a plain name.
std::filesystem::path parent_of(const std::filesystem::path& path);

/// Where a write to `path` goes once symbolic links are followed.
struct WriteTarget {
  std::filesystem::path path;
  int descriptor = -1;  ///< of this program, if the path names one: /dev/stdout
};
WriteTarget resolve_target(const std::filesystem::path& path);

/// Reads a JSON file; InputError names the file if it cannot be read or is not JSON.
nlohmann::json read_json(const std::filesystem::path& path);

/// A file that grows by whole records, for logs: a record cut short by a full disk is removed again.
class AppendFile {
 public:
  /// Opens or creates the file; FileError names it and the reason if that fails.
  explicit AppendFile(std::filesystem::path path);

  /// Appends all of the bytes or none; FileError if none. If a partial record cannot be removed, `torn()` is true.
  void append(std::string_view bytes);
  /// Whether the file ends in a partial record.
  bool torn() const { return torn_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  Descriptor descriptor_;
  bool torn_ = false;
};

}  // namespace segre
