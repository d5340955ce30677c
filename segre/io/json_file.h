#pragma once  // internal

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

namespace segre {

/// Reads a JSON file; InputError names the file if it cannot be read or is not JSON.
nlohmann::json read_json(const std::filesystem::path& path);

}  // namespace segre
