#include "segre/io/large_tensor.h"

#include "segre/io/mapped_rows.h"

namespace segre {

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
