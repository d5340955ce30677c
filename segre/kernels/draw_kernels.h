#pragma once  // internal

#include "segre/core/rng.h"
#include "segre/space/space.h"

// What a training step draws before it meets the path, each in one CUDA kernel. The CPU has no such kernels: it uses
// the twins, which are tensor operations.

namespace segre {

/// Where the variables of an item lie on which sets of known ones are drawn: variable first + i in row i / width, column
/// i % width.
struct PatternGrid {
  bool has_boxes = false;  ///< whether there are sets other than of single cells: rectangles, spans
  bool is_image = false;   ///< whether halves and borders are among them
  bool has_wide_columns = false;  ///< columns of several variables, which the kernels do not know
  int64_t first = 0, height = 1, width = 0;
};

}  // namespace segre

namespace segre::kernels {

/// Whether the kernels support times and quantiles like x: float32 on CUDA, in CUDA builds.
bool draws_serve(const torch::Tensor& x);

/// A law of times on equal bins of [0, t_max], as TimeLaw learns it.
struct TimeBins {
  torch::Tensor sum;     ///< [64] float64: running sum of the information in each bin
  torch::Tensor mass;    ///< [64] float64: of its weights; 0 in a bin without data
  double t_max;          ///< end of the last bin
  double uniform_share;  ///< of the law that stays uniform
  double least;          ///< smallest information of a bin
  bool reweight;         ///< whether weights restore the mean over uniform times
};

/// Times of a batch.
struct DrawnTimes {
  torch::Tensor t;       ///< [B] float32
  torch::Tensor weight;  ///< [B] float32
};
/// The times at which the law's distribution function equals u [B]. Twin: TimeLaw::at, whose sums over bins may round
/// differently.
DrawnTimes draw_times(const TimeBins& law, const torch::Tensor& u);

/// What a batch is shown and how often, as EvidenceLaw decides it.
struct EvidencePlan {
  bool tells;             ///< if false, nothing but that unknown labels are left out
  bool has_own_times;     ///< whether variables may have their own times
  double known;           ///< share of the items with known variables
  double own_times;       ///< share of the items whose variables have their own times
  double erased;          ///< share of the items with known variables whose others have no evidence
  PatternGrid grid;       ///< decides the patterns, see KnownPatterns
  int64_t variables;      ///< n
  int64_t left_out;       ///< mark of a variable whose label is unknown; one that is to be found has kUnknown
  uint64_t seed;          ///< of Purpose::known_cells and Purpose::own_times
};

/// Whether draw_evidence supports times like t and the plan, whose places must be exact in the twin's float32.
bool evidence_serves(const EvidencePlan& plan, const torch::Tensor& t);

/// Evidence of a batch.
struct DrawnEvidence {
  torch::Tensor marks;  ///< [B, n] int64: the label if it is known, else a mark
  torch::Tensor t;      ///< [B], or [B, n] if variables have their own times; the argument itself if nothing is shown
  torch::Tensor plain;  ///< [B] bool: items that are shown nothing; undefined: all
};
/// labels [B, n] int64, t [B], the items' numbers [B, 11] (may be undefined if nothing is shown) and first_cell [1]
/// int64: the number of the first item times n. Twin: EvidenceLaw's operator(), which gives the same bits.
DrawnEvidence draw_evidence(const EvidencePlan& plan, const torch::Tensor& labels, const torch::Tensor& t,
                            const torch::Tensor& numbers, const torch::Tensor& first_cell);

}  // namespace segre::kernels
