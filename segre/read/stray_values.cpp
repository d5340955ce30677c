#include "segre/read/stray_values.h"

#include <iterator>
#include <numeric>

#include "segre/core/error.h"

namespace segre {
namespace {

int64_t sum_of(const std::map<int64_t, int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0},
                         [](int64_t sum, const auto& entry) { return sum + entry.second; });
}

constexpr int64_t kValuesPerStray = 1'000;  // strays are at most one value in this many,
constexpr int64_t kValuesPerSingle = 50;    // or a single value in at least this many

}  // namespace

std::optional<int64_t> find_strays(const std::map<int64_t, int64_t>& counts) {
  if (counts.empty()) return std::nullopt;
  const int64_t total = sum_of(counts);
  const int64_t largest = counts.rbegin()->first;
  int64_t above = 0;  // values from `at` on
  for (auto at = std::prev(counts.end()); at != counts.begin(); --at) {
    above += at->second;
    const bool is_single = above == 1 && total >= kValuesPerSingle;
    if (above > total / kValuesPerStray && !is_single) return std::nullopt;
    const int64_t below = std::prev(at)->first;
    const bool is_gap = at->first - below > kWidestHonestGap;
    if (is_gap && largest + 1 > 2 * (below + 1)) return at->first;
  }
  return std::nullopt;
}

std::string describe_stray(const std::map<int64_t, int64_t>& counts, int64_t stray) {
  const int64_t n_labels = counts.rbegin()->first + 1;
  const int64_t count = counts.at(stray);
  return concat("occurs ", count == 1 ? "once" : concat(count, " times"), " in ", sum_of(counts),
                " values and would make ", n_labels, " labels, of which ",
                n_labels - static_cast<int64_t>(counts.size()), " never occur");
}

}  // namespace segre
