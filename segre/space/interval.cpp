#include "segre/space/interval.h"

#include <algorithm>
#include <cmath>

#include "segre/space/moment.h"

namespace segre {

double Interval::count(double step) const {
  return std::round((high - low) / step) + (has_high ? 1.0 : 0.0) - static_cast<double>(without.size());
}

Interval interval_of(const Bins& bins, int64_t k) {
  const bool is_last = k + 1 == bins.n_intervals();
  Interval found{bins.edges[k], bins.edges[k + 1], is_last, {}};
  const auto first = std::lower_bound(bins.own.begin(), bins.own.end(), found.low);
  auto last = std::lower_bound(first, bins.own.end(), found.high);
  if (is_last && last != bins.own.end() && *last == found.high) ++last;
  found.without = {first, last};
  return found;
}

int64_t resolution_of(Bins::Unit unit) {
  switch (unit) {
    case Bins::Unit::day:
      return kSecondsPerDay;
    case Bins::Unit::minute:
      return 60;
    case Bins::Unit::second:
      return 1;
    case Bins::Unit::number:
      break;
  }
  return 0;
}

double step_of(const Bins& bins) {
  if (bins.decimals == Bins::kAnyDecimals) return 0.0;
  const double unit = bins.unit == Bins::Unit::number ? 1.0 : static_cast<double>(resolution_of(bins.unit));
  return static_cast<double>(bins.stride) * unit * std::pow(10.0, -static_cast<double>(bins.decimals));
}

double nearest_on_grid(const Bins& bins, double value) {
  const double step = step_of(bins);
  // A value of the data itself is on the grid, but rounding may not give it back to the last bit.
  const bool is_own = std::binary_search(bins.own.begin(), bins.own.end(), value);
  const double rounded = step > 0.0 && !is_own && !bins.are_points ? std::round(value / step) * step : value;
  return std::clamp(rounded, bins.least(), bins.largest());
}

}  // namespace segre
