#pragma once

#include <string_view>

namespace segre {

/// Name of the label for missing values in a table.
inline constexpr const char* kMissingName = "(missing)";

/// Whether a text in a table means a missing value: an empty text, NA, N/A, NaN, nan, null, NULL, ?, or kMissingName,
/// which samples contain.
bool is_missing(std::string_view text);

}  // namespace segre
