#include "segre/io/json_file.h"

#include <nlohmann/json.hpp>

#include "segre/core/error.h"
#include "segre/io/files.h"

namespace segre {

nlohmann::json read_json(const std::filesystem::path& path) {
  try {
    return nlohmann::json::parse(read_file(path));
  } catch (const nlohmann::json::exception& error) {
    fail_input(path.string(), ": not valid JSON (", error.what(), ")");
  }
}

}  // namespace segre
