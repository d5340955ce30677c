#include "segre/io/growing_buffer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <new>

#include "segre/io/mapped_rows.h"

namespace segre {
namespace {

constexpr int64_t kFirstBytes = 4096;
constexpr int64_t kMostStep = int64_t{64} << 20;  // a file grows by, and so much of it is touched before it is released

// A file that disappears when it is closed; none if the folder does not allow it.
Descriptor unnamed_file(const std::filesystem::path& folder) {
  Descriptor file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file) return file;
  std::string name = (folder / "segre-XXXXXX").string();
  file = Descriptor(::mkostemp(name.data(), O_CLOEXEC));
  if (file) ::unlink(name.c_str());
  return file;
}

// /tmp is often a disk in memory, where a large file would gain nothing.
std::shared_ptr<MappedFile> make_file(int64_t bytes) {
  const char* const wanted = std::getenv("TMPDIR");
  for (const char* folder : {wanted, "/var/tmp", "/tmp"}) {
    if (folder == nullptr || *folder == '\0') continue;
    Descriptor file = unnamed_file(folder);
    if (!file) continue;
    try {
      return std::make_shared<MappedFile>(std::move(file), concat("temporary file in ", folder), bytes);
    } catch (const FileError&) {  // full: the next one may have room
    }
  }
  return nullptr;
}

}  // namespace

void GrowingBuffer::reserve(int64_t bytes) {
  if (bytes <= capacity()) return;
  const int64_t more = std::clamp(capacity(), kFirstBytes, kMostStep);
  if (file_) {
    file_->grow(bytes + more);
    release();
    return;
  }
  if (bytes > most_in_memory_ && move_to_file(bytes + more)) return;
  const int64_t doubled = std::max(2 * capacity(), kFirstBytes);
  const int64_t wanted = std::max(bytes, bytes > most_in_memory_ ? doubled : std::min(doubled, most_in_memory_));
  auto* const grown = static_cast<std::byte*>(std::realloc(memory_.get(), static_cast<size_t>(wanted)));
  if (grown == nullptr) throw std::bad_alloc();
  static_cast<void>(memory_.release());
  memory_.reset(grown);
  memory_bytes_ = wanted;
}

bool GrowingBuffer::move_to_file(int64_t bytes) {
  auto file = make_file(bytes);
  if (!file) return false;
  if (memory_) std::memcpy(file->data(), memory_.get(), static_cast<size_t>(memory_bytes_));
  memory_.reset();
  file_ = std::move(file);
  release();
  return true;
}

void GrowingBuffer::release() const {
  if (file_) file_->release(0, file_->size());
}

torch::Tensor GrowingBuffer::take(at::IntArrayRef shape, torch::ScalarType type) {
  if (file_) return MappedFile::view(std::exchange(file_, nullptr), 0, shape, type);
  auto* const data = memory_.release();
  return at::for_blob(data, shape).context(data, &std::free).options(type).make_tensor();
}

torch::Tensor large_tensor(at::IntArrayRef shape, torch::ScalarType type, int64_t most_in_memory) {
  auto bytes = static_cast<int64_t>(c10::elementSize(type));
  for (const int64_t extent : shape) bytes *= extent;
  if (bytes <= most_in_memory) return torch::empty(shape, type);
  GrowingBuffer buffer(most_in_memory);
  buffer.reserve(bytes);
  return buffer.take(shape, type);
}

torch::Tensor converted(const torch::Tensor& tensor, torch::ScalarType type) {
  if (!is_mapped(tensor) || tensor.scalar_type() == type) return tensor.to(type).contiguous();
  auto out = large_tensor(tensor.sizes(), type);
  for_each_part(tensor, [&](const torch::Tensor& part, int64_t first) {
    const auto to = out.slice(0, first, first + part.size(0));
    to.copy_(part);
    release_pages(to);
  });
  return out;
}

}  // namespace segre
