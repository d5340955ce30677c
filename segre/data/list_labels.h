#pragma once  // internal

#include <string>
#include <vector>

namespace segre {

/// Labels as messages list them: "blue, green, red", or the first few of many: "a, b, c, ... (300 in all)".
std::string list_labels(const std::vector<std::string>& names);

}  // namespace segre
