#pragma once

#include <map>
#include <string>

#include "segre/data/source_name.h"

namespace segre {

/// `bins=age:8,fare:10`, `bins=auto`, or both with a comma between: which columns of a table become intervals, and how
/// many.
struct BinsOption {
  static constexpr int64_t kAutoBins = 10;  ///< of a column that `auto` takes

  bool is_auto = false;                   ///< every column that would be refused as a measurement or as dates
  std::map<std::string, int64_t> counts;  ///< by column

  /// InputError names the source and the option where it is written otherwise.
  static BinsOption read(const SourceName& name);
};

}  // namespace segre
