#pragma once

#include <cstdint>
#include <string>

namespace segre {

/// How many bytes zlib at its highest level makes of `bytes`, beyond those of an empty stream.
int64_t deflated_size(const std::string& bytes);

}  // namespace segre
