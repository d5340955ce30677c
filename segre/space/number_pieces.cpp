#include "segre/space/number_pieces.h"

#include <algorithm>
#include <utility>

#include "segre/space/interval.h"

namespace segre {

NumberPieces::NumberPieces(const Bins& bins)
    : size_(bins.n_intervals() + static_cast<int64_t>(bins.own.size())),
      least_(bins.least()),
      largest_(bins.largest()) {
  // A value on a grid stands for what is within half a step of it, and values with labels of their own are left out.
  const double half = 0.5 * step_of(bins);
  auto own = bins.own.begin();
  for (int64_t k = 0; k < bins.n_intervals(); ++k) {
    const double low = bins.edges[k];
    const double high = bins.edges[k + 1];
    if (bins.are_points || high == low) {
      pieces_.push_back({low, low, k, 1.0});
      continue;
    }
    const double end = k + 1 == bins.n_intervals() ? high + half : high - half;
    const size_t first = pieces_.size();
    double from = low - half;
    double width = 0.0;
    const auto add_up_to = [&](double to) {
      if (to <= from) return;
      pieces_.push_back({from, to, k, to - from});
      width += to - from;
    };
    own = std::lower_bound(own, bins.own.end(), low);
    for (; own != bins.own.end() && *own < end; ++own) {
      add_up_to(*own - half);
      from = *own + half;
    }
    add_up_to(end);
    for (size_t piece = first; piece < pieces_.size(); ++piece) pieces_[piece].share /= width;
  }
  for (size_t k = 0; k < bins.own.size(); ++k)
    pieces_.push_back({bins.own[k], bins.own[k], bins.n_intervals() + static_cast<int64_t>(k), 1.0});
  std::stable_sort(pieces_.begin(), pieces_.end(),
                   [](const Piece& a, const Piece& b) { return std::pair(a.low, a.high) < std::pair(b.low, b.high); });
}

double NumberPieces::quantile(const double* p, double q) const {
  double below = 0.0;
  double last = least_;
  for (const Piece& piece : pieces_) {
    const double mass = p[piece.number] * piece.share;
    if (mass <= 0.0) continue;
    last = piece.high;
    if (below + mass >= q) {
      const double within = std::clamp((q - below) / mass, 0.0, 1.0);
      return std::clamp(piece.low + (piece.high - piece.low) * within, least_, largest_);
    }
    below += mass;
  }
  return std::min(last, largest_);
}

double NumberPieces::mean(const double* p) const {
  double sum = 0.0;
  for (const Piece& piece : pieces_) sum += p[piece.number] * piece.share * 0.5 * (piece.low + piece.high);
  return sum;
}

}  // namespace segre
