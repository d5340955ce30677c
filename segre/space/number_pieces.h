#pragma once  // internal

#include <vector>

#include "segre/space/bins.h"

namespace segre {

/// Where the intervals and single values of a column of numbers or dates lie, in ascending order, for distributions
/// over them. `p` [m] are the probabilities of all intervals, then of the single values, as Bins::number_of numbers
/// them.
class NumberPieces {
 public:
  explicit NumberPieces(const Bins& bins);

  /// m.
  int64_t size() const { return size_; }
  /// Where the distribution reaches q; within the range of the data.
  double quantile(const double* p, double q) const;
  double mean(const double* p) const;

 private:
  struct Piece {
    double low, high;  // equal for a single value
    int64_t number;    // of the interval or value that it belongs to
    double share;      // of its probability
  };
  int64_t size_;
  double least_, largest_;
  std::vector<Piece> pieces_;
};

}  // namespace segre
