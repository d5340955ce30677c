#pragma once

#include "segre/net/tree.h"

namespace segre {

class NumberColumns;

/// Size of a residual network.
struct ResidualOptions {
  int64_t blocks = 4;
  int64_t width = 512;
  bool tree = false;     ///< start from the message of a Chow-Liu tree, counted from the data
  bool columns = false;  ///< join the two variables of a column of numbers, see NumberColumns
};

/// Dense residual blocks on all variables at once. The first layer sees W, the standardised evidence and its strength,
/// as a transformer's tokens do; every block adds relu(A norm(h) + a) B + b; the last layer starts at the labels' log
/// frequencies. Far cheaper per item than a transformer, so that a CPU can pass over a table hundreds of times.
///
/// With a tree the message is gate_i m_i + network, with the tree's exact message m and a learned factor per variable
/// that starts at 1, and the first layer also sees the tree's beliefs softmax(e + m): training starts where the tree
/// ends.
///
/// With columns, numbers are known to be ordered: the first layer also sees where on its column a number may be, the
/// last one adds smooth waves over the coarse levels, and what coarse and fine levels tell each other is exact (see
/// NumberColumns). The tree then joins the coarse levels of columns only.
class ResidualField final : public Field {
 public:
  ResidualField(const Space& space, const NetOptions& options, uint64_t seed);
  ~ResidualField() override;
  torch::Tensor forward(const FieldInput& input) override;
  FieldReads reads() const override { return FieldReads::standardised; }
  void fit(const DataSource& source) override;
  void refresh() override;
  bool couples_items() const override { return false; }
  int64_t n_activations() const override;

 private:
  struct Affine {
    torch::Tensor weight, bias;
  };
  struct Block {
    torch::Tensor norm;  // [width]
    Affine up, down;
  };
  Affine affine(class WeightSource& source, const std::string& name, int64_t in, int64_t out, double gain);

  Space space_;
  double dropout_;
  bool standardised_;
  std::unique_ptr<TreeField> tree_;
  torch::Tensor gate_;  // [n]; undefined without a tree
  std::unique_ptr<NumberColumns> columns_;
  torch::Tensor others_;  // [S] 0 for fine levels, 1 for all others
  Affine in_;             // [width, 2 S + n], or [width, 3 S + n] with a tree; and the features of columns
  std::vector<Block> blocks_;
  torch::Tensor norm_;  // [width]
  Affine out_;          // [S, width]
  Affine waves_;        // [n_waves, width]; undefined without columns
};

/// net.kind = "residual".
NetKind residual_kind();

}  // namespace segre
