#include "segre/io/deflate.h"

#include <zlib.h>

#include <vector>

#include "segre/core/error.h"

namespace segre {
namespace {

int64_t stream_size(const std::string& bytes) {
  std::vector<Bytef> out(compressBound(static_cast<uLong>(bytes.size())));
  uLongf size = static_cast<uLongf>(out.size());
  if (compress2(out.data(), &size, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uLong>(bytes.size()),
                Z_BEST_COMPRESSION) != Z_OK)
    fail("zlib could not compress ", bytes.size(), " bytes");
  return static_cast<int64_t>(size);
}

}  // namespace

int64_t deflated_size(const std::string& bytes) {
  static const int64_t empty = stream_size("");
  return stream_size(bytes) - empty;
}

}  // namespace segre
