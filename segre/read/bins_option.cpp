#include "segre/read/bins_option.h"

#include <charconv>

#include "segre/core/error.h"
#include "segre/space/space.h"

namespace segre {

BinsOption BinsOption::read(const SourceName& name) {
  constexpr int64_t kMost = kMaxLabels - 1;  // and one label for missing values
  BinsOption option;
  for (const std::string& piece : name.words("bins")) {
    if (piece == "auto") {
      option.is_auto = true;
      continue;
    }
    const size_t colon = piece.rfind(':');  // the name may contain colons
    int64_t count = 0;
    if (colon != std::string::npos) {
      const char* const end = piece.data() + piece.size();
      const auto [stop, error] = std::from_chars(piece.data() + colon + 1, end, count);
      if (error != std::errc() || stop != end) count = 0;
    }
    if (count < 1 || count > kMost)
      name.fail_option("bins",
                       concat("auto, or columns with their number of bins, 1 to ", kMost, ", such as age:8,fare:10,"));
    if (!option.counts.emplace(piece.substr(0, colon), count).second) name.fail_option("bins", "each column once");
  }
  return option;
}

}  // namespace segre
