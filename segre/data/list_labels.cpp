#include "segre/data/list_labels.h"

#include "segre/core/error.h"
#include "segre/core/utf8.h"

namespace segre {

std::string list_labels(const std::vector<std::string>& names) {
  constexpr size_t kMostListed = 8;
  std::string list;
  for (size_t k = 0; k < names.size() && k < kMostListed; ++k) list += concat(k > 0 ? ", " : "", printable(names[k]));
  return names.size() <= kMostListed ? list : concat(list, ", ... (", names.size(), " in all)");
}

}  // namespace segre
