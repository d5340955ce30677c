// A run directory: config.toml, model.json, the header of model.safetensors and its data, as four sections. The length
// before the header is written here, so that most inputs get past it; the target `tensors` reads whole files.

#include <cstring>
#include <nlohmann/json.hpp>

#include "fuzz/support.h"
#include "segre/runs/load_run.h"

namespace {

// The description with the config inserted where the seeds mark it, so that mutations of TOML need no escapes.
std::string description_of(std::string json, const std::string& config) {
  const std::string place = "\"@CONFIG@\"";
  const size_t at = json.find(place);
  if (at == std::string::npos) return json;
  return json.replace(at, place.size(),
                      nlohmann::json(config).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::string safetensors_of(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + data;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace segre;
  static fuzz::Folder folder;
  static const bool one_thread = (at::set_num_threads(1), true);
  (void)one_thread;
  const auto parts = fuzz::sections(std::string(reinterpret_cast<const char*>(data), size), 4);
  folder.put("config.toml", parts[0]);
  folder.put("checkpoints/step-0000000000001/model.json", description_of(parts[1], parts[0]));
  folder.put("checkpoints/step-0000000000001/model.safetensors", safetensors_of(parts[2], parts[3]));
  fuzz::survive([&] {
    const LoadedRun run = load_run(folder.path(), torch::kCPU);
    fuzz::require(run.model.space().n_coordinates() > 0, "a space has coordinates");
  });
  return 0;
}
