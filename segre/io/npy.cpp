#include "segre/io/npy.h"

#include "segre/core/error.h"

namespace segre {

int64_t npy_label_bytes(const Space& space) { return space.max_labels() <= 256 ? 1 : 2; }

namespace {

void write_header(std::ostream& out, const std::string& type, const std::vector<int64_t>& shape) {
  std::string extents = "(";
  for (const int64_t extent : shape) extents += concat(extents.size() > 1 ? " " : "", extent, ",");
  std::string header = concat("{'descr': '", type, "', 'fortran_order': False, 'shape': ", extents, "), }");
  constexpr size_t kPreamble = 10;  // magic, version, header length
  while ((kPreamble + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  out.write("\x93NUMPY\x01\x00", 8);
  out.put(static_cast<char>(header.size() & 0xff));
  out.put(static_cast<char>(header.size() >> 8));
  out << header;
}

}  // namespace

void write_npy_header(std::ostream& out, const Space& space, int64_t count) {
  std::vector<int64_t> shape{count};
  shape.insert(shape.end(), space.item_shape().begin(), space.item_shape().end());
  write_header(out, npy_label_bytes(space) == 1 ? "|u1" : "<u2", shape);
}

void write_npy_numbers(std::ostream& out, const torch::Tensor& numbers) {
  const auto packed = numbers.to(torch::kCPU, torch::kFloat32).contiguous();
  write_header(out, "<f4", packed.sizes().vec());
  out.write(static_cast<const char*>(packed.const_data_ptr()), static_cast<std::streamsize>(packed.nbytes()));
}

void write_npy_labels(std::ostream& out, const Space& space, const torch::Tensor& labels) {
  check_labels(space, labels);
  const auto cpu = labels.to(torch::kCPU).contiguous();
  const auto* label = cpu.data_ptr<int64_t>();
  const int64_t width = npy_label_bytes(space);
  std::string bytes;
  bytes.reserve(cpu.numel() * width);
  for (int64_t k = 0; k < cpu.numel(); ++k) {
    bytes += static_cast<char>(label[k] & 0xff);
    if (width == 2) bytes += static_cast<char>(label[k] >> 8);
  }
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace segre
