#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

// Whole numbers from JSON files. nlohmann's own get<int64_t>() takes 1e300 for some number.

namespace segre {

/// The value as a whole number; InputError "WHAT is VALUE, a whole number was expected" where it is not one that 64
/// bits hold.
int64_t json_integer(const nlohmann::json& value, const std::string& what);

/// A list of them.
std::vector<int64_t> json_integers(const nlohmann::json& value, const std::string& what);

}  // namespace segre
