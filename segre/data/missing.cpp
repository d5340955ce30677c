#include "segre/data/missing.h"

#include <algorithm>
#include <iterator>

namespace segre {

bool is_missing(std::string_view text) {
  static constexpr std::string_view kMissing[] = {"", "NA", "N/A", "NaN", "nan", "null", "NULL", "?", kMissingName};
  constexpr size_t kLongest = 9;  // the length rules out most texts
  return text.size() <= kLongest && std::find(std::begin(kMissing), std::end(kMissing), text) != std::end(kMissing);
}

}  // namespace segre
