#include "segre/space/value_set.h"

#include <algorithm>
#include <cmath>

#include "segre/space/interval.h"
#include "segre/space/moment.h"

namespace segre {
namespace {

bool has_values(const Span& span) {
  return span.low < span.high || (span.low == span.high && span.has_low && span.has_high);
}

// Whether nothing lies between two spans, of which the first begins no later.
bool touch(const Span& a, const Span& b) { return b.low < a.high || (b.low == a.high && (b.has_low || a.has_high)); }

// The number of the first value of the grid low, low + step, ... that is at least x or, `after` it, above x. A value
// whose number is off by less than rounding counts as x.
double first_number(double x, double low, double step, bool after) {
  constexpr double kRounding = 1e-6;
  const double r = (x - low) / step;
  const double nearest = std::round(r);
  if (std::abs(r - nearest) < kRounding) return after ? nearest + 1.0 : nearest;
  return std::ceil(r);
}

// A value with all its digits, in the form of the data if that has them.
std::string exact_text(const Bins& bins, double value) {
  Bins finer = bins;
  if (bins.unit == Bins::Unit::number) {
    const int64_t digits = decimals_of(value);
    if (bins.decimals != Bins::kAnyDecimals && (digits == Bins::kAnyDecimals || digits > bins.decimals))
      finer.decimals = digits;
    return finer.text_of(value);
  }
  const auto seconds = static_cast<int64_t>(value);
  if (finer.unit == Bins::Unit::day && seconds % kSecondsPerDay != 0) finer.unit = Bins::Unit::minute;
  if (finer.unit == Bins::Unit::minute && seconds % 60 != 0) finer.unit = Bins::Unit::second;
  return finer.text_of(value);
}

// The value of a set that is nearest to another; beside an end that does not belong to the set, by a step.
double nearest_value(const ValueSet& values, double value, double step) {
  double best = value;
  double least = std::numeric_limits<double>::infinity();
  const auto offer = [&](double end, bool has, double inwards) {
    if (!std::isfinite(end)) return;
    const double inside = has ? end : step > 0.0 ? end + inwards * step : std::nextafter(end, inwards * INFINITY);
    if (std::abs(inside - value) < least) {
      least = std::abs(inside - value);
      best = inside;
    }
  };
  for (const Span& span : values.spans()) {
    offer(span.low, span.has_low, 1.0);
    offer(span.high, span.has_high, -1.0);
  }
  return best;
}

}  // namespace

ValueSet::ValueSet(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.low != b.low ? a.low < b.low : a.has_low && !b.has_low; });
  for (const Span& span : spans) {
    if (!has_values(span)) continue;
    if (spans_.empty() || !touch(spans_.back(), span)) {
      spans_.push_back(span);
      continue;
    }
    Span& last = spans_.back();
    if (span.high > last.high) {
      last.high = span.high;
      last.has_high = span.has_high;
    } else if (span.high == last.high) {
      last.has_high = last.has_high || span.has_high;
    }
  }
}

bool ValueSet::contains(double value) const {
  return std::any_of(spans_.begin(), spans_.end(), [value](const Span& span) {
    return (value > span.low || (value == span.low && span.has_low)) &&
           (value < span.high || (value == span.high && span.has_high));
  });
}

std::optional<double> ValueSet::single() const {
  if (spans_.size() != 1 || spans_.front().low != spans_.front().high) return std::nullopt;
  return spans_.front().low;
}

ValueSet ValueSet::complement() const {
  std::vector<Span> gaps;
  Span gap{};
  for (const Span& span : spans_) {
    gap.high = span.low;
    gap.has_high = !span.has_low;
    gaps.push_back(gap);
    gap = {.low = span.high, .has_low = !span.has_high};
  }
  gaps.push_back(gap);
  // Beyond an infinite end there is nothing.
  std::erase_if(gaps, [](const Span& g) { return g.low == INFINITY || g.high == -INFINITY; });
  return ValueSet(std::move(gaps));
}

ValueSet ValueSet::intersect(const ValueSet& other) const {
  std::vector<Span> common;
  for (const Span& a : spans_)
    for (const Span& b : other.spans_) {
      Span both{.low = std::max(a.low, b.low), .high = std::min(a.high, b.high)};
      both.has_low = (a.low < both.low || a.has_low) && (b.low < both.low || b.has_low);
      both.has_high = (a.high > both.high || a.has_high) && (b.high > both.high || b.has_high);
      common.push_back(both);
    }
  return ValueSet(std::move(common));
}

PlacePart::PlacePart(const Bins& bins, Bins::Place place, const ValueSet& values) {
  const bool is_own = place.label >= bins.n_shared();
  const Interval interval = is_own ? Interval{} : interval_of(bins, bins.number_of(place));
  if (is_own || bins.are_points || interval.high == interval.low) {
    count_ = 1.0;
    if (values.contains(is_own ? bins.own[place.label - bins.n_shared()] : interval.low)) pieces_ = {{0.0, 1.0}};
    share_ = pieces_.empty() ? 0.0 : 1.0;
    return;
  }
  const double step = step_of(bins);
  const double count = step > 0.0 ? interval.count(step) : INFINITY;
  if (count < kMostSteps) count_ = count;
  const double all = count_ + static_cast<double>(interval.without.size());
  // Of the values before number k of the grid, how many have no label of their own.
  const auto without_own = [&](double k) {
    const auto before = std::count_if(interval.without.begin(), interval.without.end(),
                                      [&](double own) { return std::round((own - interval.low) / step) < k; });
    return k - static_cast<double>(before);
  };
  for (const Span& span : values.spans()) {
    Piece piece{};
    if (count_ > 0.0) {
      const double from = std::clamp(first_number(span.low, interval.low, step, !span.has_low), 0.0, all);
      const double to = std::clamp(first_number(span.high, interval.low, step, span.has_high), 0.0, all);
      piece = {without_own(from), without_own(to)};
    } else {
      const double width = interval.high - interval.low;
      piece = {(std::max(span.low, interval.low) - interval.low) / width,
               (std::min(span.high, interval.high) - interval.low) / width};
    }
    if (piece.to <= piece.from) continue;
    pieces_.push_back(piece);
    share_ += piece.to - piece.from;
  }
  if (count_ > 0.0) share_ /= count_;
}

double PlacePart::within(double u) const {
  constexpr double kMargin = 1e-9;  // of a piece without a grid, at both ends, so that rounding does not leave it
  double left = u * share_ * (count_ > 0.0 ? count_ : 1.0);
  for (const Piece& piece : pieces_) {
    const double length = piece.to - piece.from;
    if (left >= length && &piece != &pieces_.back()) {
      left -= length;
      continue;
    }
    if (count_ > 0.0) return (piece.from + std::min(std::floor(left), length - 1.0) + 0.5) / count_;
    return piece.from + std::clamp(left, kMargin * length, (1.0 - kMargin) * length);
  }
  return u;
}

std::string draw_given(const Bins& bins, Bins::Place place, const GivenValue& given, double u) {
  if (given.exact) return exact_text(bins, *given.exact);
  const PlacePart part(bins, place, given.values);
  const std::string text = bins.draw(place, part.within(u));
  const auto value = bins.parse(text);
  if (part.share() > 0.0 && value && given.values.contains(*value)) return text;
  return exact_text(bins, nearest_value(given.values, value.value_or(bins.least()), step_of(bins)));
}

}  // namespace segre
