#pragma once

#include <cstdint>
#include <string>

#include "segre/core/error.h"

namespace segre {

/// How far a compressed file may expand. Above the first `free_bytes` the ratio counts, so that a bomb stops early
/// while a small file of nothing but zeros still opens.
struct ExpansionLimits {
  int64_t max_bytes = int64_t{16} << 30;    ///< never more than this
  int64_t free_bytes = int64_t{256} << 20;  ///< no ratio is asked of the first so many bytes
  int64_t max_ratio = 300;                  ///< expanded / compressed; deflate itself reaches 1032

  /// Throws InputError naming `what` where `expanded` bytes out of `compressed` are too many.
  void check(const std::string& what, int64_t compressed, int64_t expanded) const {
    if (expanded > max_bytes) fail_input(what, ": expands to more than ", max_bytes, " bytes, the most that is read");
    if (expanded > free_bytes && expanded / max_ratio > compressed)
      fail_input(what, ": ", compressed, " compressed bytes expand to ", expanded, " and more, over ", max_ratio,
                 " times as much: not read, it looks like a decompression bomb");
  }
};

}  // namespace segre
