#pragma once  // internal

#include <algorithm>
#include <vector>

#include "segre/data/source.h"

namespace segre {

/// What is known beforehand of the columns of numbers whose levels are two variables, a coarse one whose labels share
/// intervals, and a fine one that says which interval: levels are ordered, and a fine level belongs to its coarse one.
///
/// Given everything else, let the coarse label a have the log message g_a, and the fine label b the density
///
///   p(b | a) = U_ab (1 + tau_a z_ab),   tau_a = tanh of half the slope of g - log p at a,
///
/// U counted from the data and z rising from -1 to 1 across the coarse label (and centred under U): a density that
/// rises from one coarse label to the next also rises within. What the two variables then tell each other is exact, as
/// on a tree, s = softmax(e):
///
///   m_a = g_a + log sum_b s_b p(b | a),   m_b = h_b + log sum_a s_a exp(g_a) p(b | a)
///
/// with the network's own h_b. A single value has one fine label, so it excludes the others, and they exclude it.
class NumberColumns {
 public:
  explicit NumberColumns(const Space& space);

  /// Whether a space has such columns.
  static bool any(const Space& space) { return !pairs_of(space).empty(); }
  /// What they take, known before allocating memory.
  struct Size {
    int64_t pairs = 0;
    int64_t coarse = 1, fine = 1;  // the most labels
    int64_t n_waves() const { return pairs * kWaves; }
    int64_t n_features() const { return 2 * n_waves(); }
    double n_buffered() const {
      return static_cast<double>(pairs) * static_cast<double>(coarse) * static_cast<double>(fine + 1);
    }
  };
  static Size size_of(const Space& space);
  /// The fine variables.
  const std::vector<int64_t>& fine_variables() const { return fine_; }
  const Size& size() const { return size_; }

  /// U [m, C, F] and log p [m, C] of the coarse labels, counted by fit(); buffers of the field that owns this.
  const torch::Tensor& within() const { return within_; }
  const torch::Tensor& log_p() const { return log_p_; }
  void fit(const DataSource& source);
  /// Derives the rest from them, on their device.
  void refresh();

  /// The mean of cos(pi k x) for k = 1 ... kWaves over where a number may be, and its coarse evidence in these
  /// directions; x in [0, 1] is its place among all levels. beliefs, W, standardised [B, S] -> [B, n_features]
  torch::Tensor features(const torch::Tensor& beliefs, const torch::Tensor& W, const torch::Tensor& standardised) const;
  /// The sum of waves cos(pi k x) over the coarse labels, 0 for the other variables: [B, n_waves] -> [B, S].
  torch::Tensor waves(const torch::Tensor& amplitudes) const;
  /// The messages m of g and h at W = softmax(e); those of other variables are unchanged. [B, S].
  torch::Tensor couple(const torch::Tensor& message, const torch::Tensor& W) const;

 private:
  static constexpr int64_t kWaves = 12;
  // A coarse variable and the fine one after it.
  struct Pair {
    const Bins* bins;
    int64_t coarse, fine;      // variables
    int64_t n_coarse, n_fine;  // labels
    // How many intervals share a coarse label; 0 for a single value or missing ones.
    int64_t n_intervals(int64_t label) const {
      return label < bins->n_shared() ? std::min(bins->fine, bins->n_intervals() - label * bins->fine) : 0;
    }
  };
  static std::vector<Pair> pairs_of(const Space& space);
  void lay_out(torch::Device device);
  torch::Tensor coarse(const torch::Tensor& points) const;
  torch::Tensor fine(const torch::Tensor& points) const;
  torch::Tensor laid_out(const torch::Tensor& of_coarse, const torch::Tensor& of_fine) const;

  Space space_;
  std::vector<Pair> pairs_;
  std::vector<int64_t> fine_;
  Size size_;
  int64_t m_, C_, F_;     // of size_; all is padded to them
  torch::Tensor within_;  // U [m, C, F]
  torch::Tensor log_p_;   // [m, C]
  // Derived by refresh():
  torch::Tensor z_, rising_;            // [m, C, F] before it is centred; U z
  torch::Tensor coarse_at_, fine_at_;   // [m * C], [m * F] coordinates, S for padding
  torch::Tensor from_pairs_;            // [S] positions among the labels of all pairs, the last one for other variables
  torch::Tensor above_, below_, half_;  // [m * C], [m, C]: neighbours of an interval's label, and half their distance
  torch::Tensor base_cos_, base_sin_;   // [m, C, kWaves] at the lower end of a coarse label, 0 for single values
  torch::Tensor part_cos_, part_sin_;   // [m, F, kWaves] within
  torch::Tensor own_cos_;               // [m, C, kWaves] of single values
  torch::Tensor all_cos_;               // [m, C, kWaves] of all labels, at their middle
};

}  // namespace segre
