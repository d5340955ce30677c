#include "segre/io/mapped_rows.h"

#include <algorithm>
#include <vector>

#include "segre/core/parallel.h"
#include "segre/io/mapped_file.h"

namespace segre {
namespace {

constexpr int64_t kPartBytes = int64_t{16} << 20;
constexpr int64_t kRowsAtOnce = 256;  // whose reading may be in flight at the same time

// The bytes of a contiguous view.
struct Place {
  const MappedFile* file = nullptr;  // nullptr: not mapped, or not contiguous
  int64_t offset = 0;
  int64_t row_bytes = 0;
};

Place place_of(const torch::Tensor& tensor) {
  const MappedFile* file = MappedFile::of(tensor);
  if (file == nullptr || tensor.dim() == 0 || tensor.numel() == 0 || !tensor.is_contiguous()) return {};
  const auto* data = static_cast<const std::byte*>(tensor.const_data_ptr());
  return {file, data - file->data(), static_cast<int64_t>(tensor.nbytes()) / tensor.size(0)};
}

torch::Tensor empty_rows(const torch::Tensor& like, int64_t count) {
  auto shape = like.sizes().vec();
  shape.front() = count;
  return torch::empty(shape, like.options());
}

// Reads what is cached at once, and lets the kernel fetch all of the rest before waiting for the first: a disk reads
// many places in hardly more time than one.
void read_rows(const Place& from, const int64_t* rows, int64_t count, std::byte* into) {
  std::vector<int64_t> waiting;
  for (int64_t k = 0; k < count; ++k) {
    const int64_t at = from.offset + rows[k] * from.row_bytes;
    if (from.file->read_if_cached(at, from.row_bytes, into + k * from.row_bytes)) continue;
    from.file->fetch(at, from.row_bytes);
    waiting.push_back(k);
  }
  for (const int64_t k : waiting)
    from.file->read(from.offset + rows[k] * from.row_bytes, from.row_bytes, into + k * from.row_bytes);
}

}  // namespace

bool is_mapped(const torch::Tensor& tensor) { return MappedFile::of(tensor) != nullptr; }

torch::Tensor take_rows(const torch::Tensor& tensor, const torch::Tensor& rows) {
  const Place from = place_of(tensor);
  if (from.file == nullptr || rows.numel() == 0) return tensor.index_select(0, rows);
  const auto wanted = rows.to(torch::kCPU, torch::kInt64).contiguous();
  const auto* row = wanted.const_data_ptr<int64_t>();
  const auto [least, largest] = std::minmax_element(row, row + wanted.numel());
  if (*least < 0 || *largest >= tensor.size(0))
    fail(from.file->name(), ": row ", *least < 0 ? *least : *largest, " of ", tensor.size(0), " does not exist");
  auto out = empty_rows(tensor, wanted.numel());
  auto* const into = static_cast<std::byte*>(out.mutable_data_ptr());
  parallel_for(0, wanted.numel(), kRowsAtOnce, [&](int64_t begin, int64_t end) {
    read_rows(from, row + begin, end - begin, into + begin * from.row_bytes);
  });
  return out;
}

torch::Tensor copy_rows(const torch::Tensor& tensor, int64_t first, int64_t count) {
  auto rows = tensor.slice(0, first, first + count);
  const Place from = place_of(rows);
  if (from.file == nullptr) return rows;
  auto out = empty_rows(rows, rows.size(0));
  from.file->read(from.offset, static_cast<int64_t>(out.nbytes()), out.mutable_data_ptr());
  return out;
}

void for_each_part(const torch::Tensor& tensor,
                   const std::function<void(const torch::Tensor& part, int64_t first)>& use) {
  const int64_t n_rows = tensor.size(0);
  const int64_t row_bytes = n_rows > 0 ? static_cast<int64_t>(tensor.nbytes()) / n_rows : 0;
  const int64_t step = std::max<int64_t>(1, kPartBytes / std::max<int64_t>(1, row_bytes));
  const Place from = place_of(tensor);
  const auto buffer = from.file != nullptr ? empty_rows(tensor, std::min(step, n_rows)) : torch::Tensor();
  for (int64_t first = 0; first < n_rows; first += step) {
    const int64_t count = std::min(step, n_rows - first);
    const auto part = from.file != nullptr ? buffer.slice(0, 0, count) : tensor.slice(0, first, first + count);
    if (from.file != nullptr)
      from.file->read(from.offset + first * row_bytes, count * row_bytes, part.mutable_data_ptr());
    use(part, first);
  }
}

void release_pages(const torch::Tensor& tensor) {
  if (const Place place = place_of(tensor); place.file != nullptr)
    place.file->release(place.offset, static_cast<int64_t>(tensor.nbytes()));
}

}  // namespace segre
