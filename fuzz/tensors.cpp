// A safetensors file, whole.

#include "fuzz/support.h"
#include "segre/io/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace segre;
  static fuzz::Folder folder;
  const auto path = folder.put("model.safetensors", std::string(reinterpret_cast<const char*>(data), size));
  fuzz::survive([&] {
    size_t bytes = 0;
    for (const auto& [name, tensor] : read_safetensors(path)) bytes += tensor.nbytes();
    fuzz::require(bytes <= size, "tensors hold no more bytes than their file");
  });
  return 0;
}
