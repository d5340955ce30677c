#pragma once

#include <cstdint>
#include <string>

#include "segre/core/error.h"

namespace segre {

/// How far a compressed file may expand. The ratio applies beyond the first `free_bytes`, so that a decompression bomb
/// stops early while a small file of zeros still opens.
struct ExpansionLimits {
  int64_t max_bytes = int64_t{16} << 30;    ///< maximum expanded size
  int64_t free_bytes = int64_t{256} << 20;  ///< up to this size any ratio is allowed
  int64_t max_ratio = 300;                  ///< expanded / compressed; deflate itself reaches 1032

  /// Throws InputError naming `what` if `compressed` bytes expand to too many, `expanded`.
  void check(const std::string& what, int64_t compressed, int64_t expanded) const {
    if (expanded > max_bytes) fail_input(what, ": expands to more than ", max_bytes, " bytes, the maximum");
    if (expanded > free_bytes && expanded / max_ratio > compressed)
      fail_input(what, ": ", compressed, " compressed bytes expand to ", expanded, " or more, over ", max_ratio,
                 " times as many: refused as a likely decompression bomb");
  }
};

}  // namespace segre
