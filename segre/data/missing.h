#pragma once

#include <string_view>

namespace segre {

/// Name of the label that missing values of a table get.
inline constexpr const char* kMissingName = "(missing)";

/// Whether a text of a table stands for a missing value: nothing, NA, N/A, NaN, nan, null, NULL, ?, or kMissingName,
/// as samples are written.
bool is_missing(std::string_view text);

}  // namespace segre
