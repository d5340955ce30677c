#include "segre/io/safetensors.h"

#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "segre/core/error.h"
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
  fail("safetensors: tensors of type ", torch::toString(type), " are not written");
}

torch::ScalarType type_of(const std::string& name, const std::string& file) {
  for (const auto& entry : kTypes)
    if (name == entry.name) return entry.type;
  fail_input(file, ": tensor type ", name, " is not one of F32, F64, I64, I32, U8");
}

constexpr uint64_t kLengthBytes = 8;

torch::Tensor tensor_from(const nlohmann::json& entry, const std::string& bytes, uint64_t data_start,
                          const std::string& name, const std::string& file) {
  const auto type = type_of(entry.at("dtype").get<std::string>(), file);
  const auto shape = entry.at("shape").get<std::vector<int64_t>>();
  const auto range = entry.at("data_offsets").get<std::vector<uint64_t>>();
  uint64_t wanted = torch::elementSize(type);
  for (const int64_t extent : shape) {
    if (extent < 0) fail_input(file, ": tensor ", name, " has a negative extent ", extent);
    const auto factor = static_cast<uint64_t>(extent);
    if (factor != 0 && wanted > std::numeric_limits<uint64_t>::max() / factor)
      fail_input(file, ": tensor ", name, " has more elements than can be");
    wanted *= factor;
  }
  const uint64_t available = bytes.size() - data_start;
  if (range.size() != 2 || range[0] > range[1] || range[1] > available || range[1] - range[0] != wanted)
    fail_input(file, ": tensor ", name, " needs ", wanted,
               " bytes and its place does not hold them; was the file cut short?");
  auto tensor = torch::empty(shape, type);
  if (wanted > 0) std::memcpy(tensor.data_ptr(), bytes.data() + data_start + range[0], wanted);
  return tensor;
}

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
    fail_input(file, ": header of ", length, " bytes promised, the file holds ", bytes.size(),
               "; not a safetensors file, or cut short");
  NamedTensors tensors;
  try {
    const auto header = nlohmann::json::parse(bytes.begin() + kLengthBytes,
                                              bytes.begin() + static_cast<std::ptrdiff_t>(kLengthBytes + length));
    for (const auto& [name, entry] : header.items())
      if (name != "__metadata__") tensors[name] = tensor_from(entry, bytes, kLengthBytes + length, name, file);
  } catch (const nlohmann::json::exception& error) {
    fail_input(file, ": the safetensors header is not valid (", error.what(), ")");
  }
  return tensors;
}

}  // namespace segre
