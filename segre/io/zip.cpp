#include "segre/io/zip.h"

#include <minizip/unzip.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "segre/core/text.h"

namespace segre {
namespace {

constexpr uLong kEncrypted = 1;  // bit of the general purpose flag

// Absolute, or leading out of the folder it is extracted into; backslashes and drives as Windows reads them.
bool is_unsafe(std::string name) {
  std::replace(name.begin(), name.end(), '\\', '/');
  const auto parts = split(name, '/');
  return name.starts_with('/') || (name.size() > 1 && name[1] == ':') || name.find('\0') != std::string::npos ||
         std::find(parts.begin(), parts.end(), "..") != parts.end();
}

// For messages: a name may contain anything.
std::string printable(std::string name) {
  for (char& c : name)
    if (static_cast<unsigned char>(c) < ' ') c = '?';
  return name;
}

}  // namespace

struct ZipReader::Archive {
  unzFile handle = nullptr;
  std::vector<unz64_file_pos> positions;
  ~Archive() {
    if (handle != nullptr) unzClose(handle);
  }
};

ZipReader::ZipReader(const std::filesystem::path& path, const ExpansionLimits& limits)
    : name_(path.string()), limits_(limits), archive_(std::make_unique<Archive>()) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) fail_input(name_, ": is a directory, a zip file was expected");
  errno = 0;
  if (!std::ifstream(path)) fail_input(name_, ": cannot be opened (", std::strerror(errno), ")");
  archive_->handle = unzOpen64(path.c_str());
  if (archive_->handle == nullptr) fail_input(name_, ": not a zip archive, or one cut short (it has no directory)");
  int64_t total = 0;
  const auto on_disk = static_cast<int64_t>(std::filesystem::file_size(path, ignored));
  int state = unzGoToFirstFile(archive_->handle);
  for (int64_t number = 0; state == UNZ_OK; ++number, state = unzGoToNextFile(archive_->handle)) {
    const size_t before = entries_.size();
    add_entry(number);
    if (entries_.size() == before) continue;
    // Entries may share their compressed bytes, so the sum is compared with the file's size.
    total += std::min(entries_.back().expanded, limits_.max_bytes + 1);
    limits_.check(name_, on_disk, total);
  }
  if (state != UNZ_END_OF_LIST_OF_FILE) fail_input(name_, ": the directory of the zip archive is damaged");
}

ZipReader::~ZipReader() = default;

void ZipReader::add_entry(int64_t number) {
  unz_file_info64 info{};
  std::string entry_name;
  const auto query = [&] {
    return unzGetCurrentFileInfo64(archive_->handle, &info, entry_name.data(), entry_name.size(), nullptr, 0, nullptr,
                                   0) == UNZ_OK;
  };
  bool readable = query();
  entry_name.resize(info.size_filename);  // at most 65,535: the format has 16 bits for it
  readable = readable && query();
  if (!readable) fail_input(name_, ": the directory of the zip archive is damaged at entry ", number + 1);
  const std::string where = name_ + ": entry " + printable(entry_name);
  if (is_unsafe(entry_name)) fail_input(where, ": the path leads out of the archive's folder; the archive is refused");
  unz64_file_pos position{};
  unzGetFilePos64(archive_->handle, &position);
  archive_->positions.push_back(position);
  if (entry_name.ends_with('/')) return;
  if ((info.flag & kEncrypted) != 0) fail_input(where, ": is encrypted, which is not supported");
  if (info.compression_method != 0 && info.compression_method != Z_DEFLATED)
    fail_input(where, ": uses compression method ", info.compression_method, ", expected 0 (stored) or 8 (deflate)");
  const auto clamp = [](uint64_t bytes) { return static_cast<int64_t>(std::min<uint64_t>(bytes, INT64_MAX)); };
  entries_.push_back({entry_name, clamp(info.compressed_size), clamp(info.uncompressed_size), number});
  limits_.check(where, entries_.back().compressed, entries_.back().expanded);
}

std::string ZipReader::place(const Entry& entry) const { return name_ + ": entry " + printable(entry.name); }

std::string ZipReader::read(const Entry& entry) const {
  unzFile handle = archive_->handle;
  unz64_file_pos position = archive_->positions.at(entry.number);
  if (unzGoToFilePos64(handle, &position) != UNZ_OK || unzOpenCurrentFile(handle) != UNZ_OK)
    fail_input(place(entry), ": its header is damaged");
  std::string contents;
  char buffer[size_t{1} << 16];
  int found = 0;
  while ((found = unzReadCurrentFile(handle, buffer, sizeof buffer)) > 0)
    contents.append(buffer, static_cast<size_t>(found));
  // The checksum is known only after all bytes are read; closing reports whether it matches.
  const int closed = unzCloseCurrentFile(handle);
  if (found < 0) fail_input(place(entry), ": the compressed data are damaged");
  if (static_cast<int64_t>(contents.size()) != entry.expanded)
    fail_input(place(entry), ": has ", contents.size(), " bytes, the archive's directory says ", entry.expanded);
  if (closed != UNZ_OK) fail_input(place(entry), ": the checksum is wrong, the data are damaged");
  return contents;
}

}  // namespace segre
