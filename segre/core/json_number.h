#pragma once  // internal

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

// Whole numbers from JSON files. nlohmann's own get<int64_t>() turns 1e300 into an arbitrary number.

namespace segre {

/// The value as a whole number; InputError "WHAT is VALUE, a whole number was expected" if it is not one or exceeds 64
/// bits.
int64_t json_integer(const nlohmann::json& value, const std::string& what);

/// A list of them.
std::vector<int64_t> json_integers(const nlohmann::json& value, const std::string& what);

}  // namespace segre
