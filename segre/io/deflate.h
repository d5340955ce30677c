#pragma once  // internal

#include <cstdint>
#include <string>

namespace segre {

/// Size of `bytes` compressed by zlib at its highest level, minus that of an empty stream.
int64_t deflated_size(const std::string& bytes);

}  // namespace segre
