#include "segre/io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace segre {
namespace {

using Owner = std::shared_ptr<const MappedFile>;

// Marks the storage of view(): of() recognises it by the address of this function.
void forget(void* owner) { delete static_cast<Owner*>(owner); }

int64_t page_size() {
  static const int64_t size = ::sysconf(_SC_PAGESIZE);
  return size;
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path)
    : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), name_(path.string()) {
  struct stat found {};
  if (!file_ || ::fstat(file_.number(), &found) != 0) throw FileError(name_, "cannot be mapped", errno);
  if (!S_ISREG(found.st_mode)) throw FileError(name_, "cannot be mapped", ENODEV);
  size_ = found.st_size;
  map(PROT_READ);
}

MappedFile::MappedFile(Descriptor file, std::string name, int64_t bytes)
    : file_(std::move(file)), name_(std::move(name)) {
  if (const int error = ::posix_fallocate(file_.number(), 0, bytes)) throw FileError(name_, "cannot grow", error);
  size_ = bytes;
  map(PROT_READ | PROT_WRITE);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, static_cast<size_t>(size_));
}

void MappedFile::map(int protection) {
  void* const at = ::mmap(nullptr, static_cast<size_t>(size_), protection, MAP_SHARED, file_.number(), 0);
  if (at == MAP_FAILED) throw FileError(name_, "cannot be mapped", errno);
  data_ = static_cast<std::byte*>(at);
}

void MappedFile::grow(int64_t bytes) {
  // Space is taken now: a page that finds the disk full when it is written would end the process.
  if (const int error = ::posix_fallocate(file_.number(), size_, bytes - size_))
    throw FileError(name_, "cannot grow", error);
  void* const at = ::mremap(data_, static_cast<size_t>(size_), static_cast<size_t>(bytes), MREMAP_MAYMOVE);
  if (at == MAP_FAILED) throw FileError(name_, "cannot be mapped", errno);
  data_ = static_cast<std::byte*>(at);
  size_ = bytes;
}

void MappedFile::read(int64_t offset, int64_t bytes, void* into) const {
  auto* to = static_cast<char*>(into);
  for (const int64_t end = offset + bytes; offset < end;) {
    const ssize_t found = ::pread(file_.number(), to, static_cast<size_t>(end - offset), offset);
    if (found < 0 && errno == EINTR) continue;
    if (found < 0) throw FileError(name_, "cannot be read", errno);
    if (found == 0)
      fail(name_, ": ends after ", offset, " bytes and had ", size_, " when it was opened; was it changed since?");
    to += found;
    offset += found;
  }
}

bool MappedFile::read_if_cached(int64_t offset, int64_t bytes, void* into) const {
  const iovec part{into, static_cast<size_t>(bytes)};
  return ::preadv2(file_.number(), &part, 1, offset, RWF_NOWAIT) == bytes;
}

void MappedFile::fetch(int64_t offset, int64_t bytes) const {
  ::posix_fadvise(file_.number(), offset, bytes, POSIX_FADV_WILLNEED);  // a wish: if it fails, read() waits longer
}

void MappedFile::release(int64_t offset, int64_t bytes) const {
  // The kernel maps pages around the one that is touched.
  constexpr int64_t kAround = int64_t{4} << 20;
  const int64_t begin = std::max<int64_t>(0, offset - kAround) / page_size() * page_size();
  const int64_t end = std::min(size_, offset + bytes + kAround);
  if (begin < end) ::madvise(data_ + begin, static_cast<size_t>(end - begin), MADV_DONTNEED);
}

torch::Tensor MappedFile::view(std::shared_ptr<const MappedFile> file, int64_t offset, at::IntArrayRef shape,
                               torch::ScalarType type) {
  const auto value_bytes = static_cast<int64_t>(c10::elementSize(type));
  int64_t bytes = value_bytes;
  for (const int64_t extent : shape) bytes *= extent;
  if (offset < 0 || offset % value_bytes != 0 || bytes > file->size() - offset)
    fail(file->name(), ": a view of ", bytes, " bytes at ", offset, " does not fit into ", file->size());
  void* const data = file->data() + offset;
  return at::for_blob(data, shape).context(new Owner(std::move(file)), &forget).options(type).make_tensor();
}

const MappedFile* MappedFile::of(const torch::Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_storage() || !tensor.device().is_cpu()) return nullptr;
  const auto* owner = tensor.storage().data_ptr().cast_context<Owner>(&forget);
  return owner != nullptr ? owner->get() : nullptr;
}

}  // namespace segre
