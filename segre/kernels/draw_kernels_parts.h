#pragma once  // internal

// The interface between draw_kernels.cpp and draw_kernels.cu: sizes and raw pointers, so that nvcc does not have to
// parse LibTorch. Everything is launched on `cuda_stream`; nothing allocates or waits. Also the meaning of an item's
// numbers, which the kernels share with their twins in patterns.cpp and evidence.cpp.

#include <cstdint>

namespace segre::kernels::detail {

/// What each number of an item decides: first those of its pattern, see KnownPatterns, then those of EvidenceLaw.
enum Number {
  kShare,
  kKind,
  kTop,
  kBottom,
  kLeft,
  kRight,
  kSide,
  kInside,
  kPatternNumbers,  ///< how many decide the pattern
  kIsKnown = kPatternNumbers,
  kHasOwnTimes,
  kIsErased,
  kItemNumbers,  ///< how many an item has
};

inline constexpr double kCellsShare = 0.4;     ///< of the items of images and sequences
inline constexpr double kHalvesShare = 0.5;    ///< of the remaining items of images; what no share names is rectangles
inline constexpr double kBordersShare = 0.15;  ///< of the same
inline constexpr double kWholeShare = 0.75;    ///< of the items of tables: columns of several variables are whole

/// Bins of the law of times; TimeLaw::kBins. Two for each lane of a warp.
inline constexpr int kTimeBins = 64;

/// A law of times; see kernels::TimeBins. Pointers are on the device.
struct TimeBinsAt {
  const double* sum;   // [kTimeBins]
  const double* mass;  // [kTimeBins]
  double t_max, uniform_share, least;
  bool reweight;
};

/// u, t and weight: [count] float32.
void draw_times_cuda(const TimeBinsAt& law, const float* u, float* t, float* weight, int64_t count, void* cuda_stream);

/// The arguments and results of kernels::draw_evidence. Pointers are on the device.
struct EvidenceAt {
  const int64_t* labels;      // [items, variables]
  const float* t;             // [items]
  const float* numbers;       // [items, kItemNumbers]; null: nothing is shown, and only marks are written
  const int64_t* first_cell;  // [1]
  int64_t items, variables;
  float known, own_times, erased;  // shares
  bool has_own_times;
  bool has_boxes, is_image;  // patterns other than cells; rectangles with halves and borders among them
  int64_t first, height, width;  // the grid starts at variable `first`
  uint64_t seed, known_stream, own_stream;
  int64_t unknown, left_out;  // marks
  int64_t* marks;             // [items, variables]
  float* times;               // [items, variables] if has_own_times, else [items]
  bool* plain;                // [items]
};
void draw_evidence_cuda(const EvidenceAt& draw, void* cuda_stream);

}  // namespace segre::kernels::detail
