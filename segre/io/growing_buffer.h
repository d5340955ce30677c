#pragma once  // internal

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <utility>

#include "segre/io/mapped_file.h"

namespace segre {

/// Memory that grows. Beyond `most_in_memory` bytes its contents are in a mapped file, which the kernel can write out
/// when memory is short: an unnamed file in $TMPDIR, /var/tmp or /tmp that disappears with the buffer. If none can be
/// made there, all stays in memory.
class GrowingBuffer {
 public:
  static constexpr int64_t kMostInMemory = int64_t{256} << 20;

  explicit GrowingBuffer(int64_t most_in_memory = kMostInMemory) : most_in_memory_(most_in_memory) {}

  std::byte* data() const { return file_ ? file_->data() : memory_.get(); }
  int64_t capacity() const { return file_ ? file_->size() : memory_ ? memory_bytes_ : 0; }
  int64_t most_in_memory() const { return most_in_memory_; }
  /// Makes room for at least `bytes`; the contents stay, data() changes. FileError if the disk is full.
  void reserve(int64_t bytes);
  /// Takes the pages of a mapped file out of the process's memory.
  void release() const;
  /// A tensor that takes over the contents, which must have room for it; the buffer is empty afterwards.
  torch::Tensor take(at::IntArrayRef shape, torch::ScalarType type);

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  bool move_to_file(int64_t bytes);

  int64_t most_in_memory_;
  std::unique_ptr<std::byte, Free> memory_;
  int64_t memory_bytes_ = 0;
  std::shared_ptr<MappedFile> file_;
};

/// Numbers added one by one to a GrowingBuffer.
template <class T>
class GrowingArray {
 public:
  explicit GrowingArray(int64_t most_in_memory = GrowingBuffer::kMostInMemory) : buffer_(most_in_memory) {}
  GrowingArray(GrowingArray&& other) noexcept : GrowingArray(other.buffer_.most_in_memory()) { swap(other); }
  GrowingArray& operator=(GrowingArray&& other) noexcept {
    swap(other);
    return *this;
  }
  ~GrowingArray() = default;

  void push_back(T value) {
    if (size_ == capacity_) reserve(size_ + 1);
    data_[size_++] = value;
  }
  int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](int64_t k) { return data_[k]; }
  T operator[](int64_t k) const { return data_[k]; }
  T* begin() const { return data_; }
  T* end() const { return data_ + size_; }
  /// Makes room for at least `count` numbers.
  void reserve(int64_t count) {
    buffer_.reserve(count * static_cast<int64_t>(sizeof(T)));
    data_ = reinterpret_cast<T*>(buffer_.data());
    capacity_ = buffer_.capacity() / static_cast<int64_t>(sizeof(T));
  }
  /// Removes all numbers and gives their memory back.
  void clear() { *this = GrowingArray(buffer_.most_in_memory()); }
  /// Takes what is in a file out of the process's memory.
  void release() const { buffer_.release(); }

  /// Calls use(first, count) for consecutive parts; each but the last has a multiple of `unit` numbers. Not all of
  /// them are in the process's memory at the same time.
  template <class Use>
  void for_each_part(int64_t unit, Use&& use) {
    constexpr int64_t kPart = int64_t{1} << 22;
    const int64_t step = std::max<int64_t>(1, kPart / unit) * unit;
    for (int64_t first = 0; first < size_; first += step) {
      use(data_ + first, std::min(step, size_ - first));
      release();
    }
  }

  /// The numbers as a tensor [N, n]; the array is empty afterwards.
  torch::Tensor take(int64_t n, torch::ScalarType type) {
    if (size_ == 0) return torch::empty({0, n}, type);
    auto tensor = buffer_.take({size_ / n, n}, type);
    clear();
    return tensor;
  }

 private:
  void swap(GrowingArray& other) {
    std::swap(buffer_, other.buffer_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  GrowingBuffer buffer_;
  T* data_ = nullptr;
  int64_t size_ = 0;
  int64_t capacity_ = 0;
};

/// A tensor with no defined contents, in a GrowingBuffer: one of more than `most_in_memory` bytes is mapped, so that it
/// need not fit into memory. Whoever fills such a tensor part by part calls release_pages after each.
torch::Tensor large_tensor(at::IntArrayRef shape, torch::ScalarType type,
                           int64_t most_in_memory = GrowingBuffer::kMostInMemory);

/// tensor.to(type), contiguous; without a copy if it is both already. A mapped tensor becomes a large_tensor.
torch::Tensor converted(const torch::Tensor& tensor, torch::ScalarType type);

}  // namespace segre
