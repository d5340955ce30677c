#pragma once  // internal

#include <map>
#include <string>

#include "segre/data/source_name.h"

namespace segre {

/// `bins=age:8,fare:10`, `bins=auto`, or both separated by a comma: which columns of a table become intervals, and how
/// many.
struct BinsOption {
  static constexpr int64_t kAutoBins = 10;  ///< of a column that `auto` bins

  bool is_auto = false;                   ///< bin every column that would be refused as measurements or dates
  std::map<std::string, int64_t> counts;  ///< by column

  /// InputError names source and option if the option is malformed.
  static BinsOption read(const SourceName& name);
};

}  // namespace segre
