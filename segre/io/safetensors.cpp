#include "segre/io/safetensors.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "segre/core/error.h"
#include "segre/core/json_number.h"
#include "segre/io/files.h"

namespace segre {
namespace {

struct TypeName {
  torch::ScalarType type;
  const char* name;
};
constexpr TypeName kTypes[] = {{torch::kFloat32, "F32"},
                               {torch::kFloat64, "F64"},
                               {torch::kInt64, "I64"},
                               {torch::kInt32, "I32"},
                               {torch::kUInt8, "U8"}};

const char* name_of(torch::ScalarType type) {
  for (const auto& entry : kTypes)
    if (entry.type == type) return entry.name;
  fail("safetensors: tensors of type ", torch::toString(type), " cannot be written");
}

torch::ScalarType type_of(const std::string& name, const std::string& file) {
  for (const auto& entry : kTypes)
    if (name == entry.name) return entry.type;
  fail_input(file, ": tensor type ", name, " is not one of F32, F64, I64, I32, U8");
}

constexpr uint64_t kLengthBytes = 8;

constexpr size_t kMostTensorAxes = 32;

// Bytes of a tensor of this shape. The product of all nonzero extents must stay in range too: LibTorch computes strides
// for empty tensors as well.
uint64_t bytes_of(const std::vector<int64_t>& shape, torch::ScalarType type, const std::string& place) {
  if (shape.size() > kMostTensorAxes)
    fail_input(place, " has ", shape.size(), " axes, at most ", kMostTensorAxes, " are read");
  auto bytes = static_cast<int64_t>(torch::elementSize(type));
  bool is_empty = false;
  for (const int64_t extent : shape) {
    if (extent < 0) fail_input(place, " has a negative extent ", extent);
    is_empty = is_empty || extent == 0;
    const int64_t factor = std::max<int64_t>(extent, 1);
    if (bytes > std::numeric_limits<int64_t>::max() / factor)
      fail_input(place, " has shape ", at::IntArrayRef(shape), ", too many elements");
    bytes *= factor;
  }
  return is_empty ? 0 : static_cast<uint64_t>(bytes);
}

// Copies tensors out of the data after the header.
class TensorReader {
 public:
  TensorReader(const std::string& bytes, uint64_t data_start, std::string file)
      : data_(std::string_view(bytes).substr(data_start)), file_(std::move(file)) {}

  torch::Tensor read(const std::string& name, const nlohmann::json& entry) {
    const std::string place = file_ + ": tensor " + name;
    const auto type = type_of(entry.at("dtype").get<std::string>(), file_);
    const std::string invalid = file_ + ": the safetensors header is not valid (tensor " + name + "): ";
    const auto shape = json_integers(entry.at("shape"), invalid + "shape");
    const auto range = json_integers(entry.at("data_offsets"), invalid + "data_offsets");
    const uint64_t wanted = bytes_of(shape, type, place);
    const bool is_inside = range.size() == 2 && range[0] >= 0 && range[0] <= range[1] &&
                           static_cast<uint64_t>(range[1]) <= data_.size() &&
                           static_cast<uint64_t>(range[1] - range[0]) == wanted;
    if (!is_inside)
      fail_input(place, " needs ", wanted, " bytes, which its data_offsets do not span; was the file cut short?");
    // The format forbids tensors that share bytes; otherwise a small file could fill the memory.
    n_read_ += wanted;
    if (n_read_ > data_.size()) fail_input(place, " shares its bytes with another tensor");
    auto tensor = torch::empty(shape, type);
    if (wanted > 0) std::memcpy(tensor.data_ptr(), data_.data() + range[0], wanted);
    return tensor;
  }

 private:
  std::string_view data_;
  std::string file_;
  uint64_t n_read_ = 0;
};

}  // namespace

void write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors) {
  nlohmann::json header = nlohmann::json::object();
  std::vector<torch::Tensor> contents;
  uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    contents.push_back(tensor.detach().to(torch::kCPU).contiguous());
    const uint64_t size = contents.back().nbytes();
    header[name] = {{"dtype", name_of(tensor.scalar_type())},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {offset, offset + size}}};
    offset += size;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // data aligned to 8 bytes
  write_file_whole(path, [&](std::ostream& out) {
    const uint64_t length = text.size();
    out.write(reinterpret_cast<const char*>(&length), kLengthBytes);
    out << text;
    for (const auto& tensor : contents)
      out.write(static_cast<const char*>(tensor.data_ptr()), static_cast<std::streamsize>(tensor.nbytes()));
  });
}

NamedTensors read_safetensors(const std::filesystem::path& path) {
  const std::string file = path.string();
  const std::string bytes = read_file(path);
  uint64_t length = 0;
  if (bytes.size() < kLengthBytes)
    fail_input(file, ": holds ", bytes.size(), " bytes, a safetensors file has at least 8");
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > bytes.size() - kLengthBytes)
    fail_input(file, ": promises a header of ", length, " bytes, the file holds ", bytes.size(),
               "; not a safetensors file, or cut short");
  NamedTensors tensors;
  try {
    const auto header = nlohmann::json::parse(bytes.begin() + kLengthBytes,
                                              bytes.begin() + static_cast<std::ptrdiff_t>(kLengthBytes + length));
    if (!header.is_object()) fail_input(file, ": the safetensors header is not valid (a JSON object was expected)");
    TensorReader reader(bytes, kLengthBytes + length, file);
    for (const auto& [name, entry] : header.items())
      if (name != "__metadata__") tensors[name] = reader.read(name, entry);
  } catch (const nlohmann::json::exception& error) {
    fail_input(file, ": the safetensors header is not valid (", error.what(), ")");
  }
  return tensors;
}

}  // namespace segre
