#pragma once

#include "segre/net/net_kinds.h"

namespace segre {

/// Size of a transformer.
struct TransformerOptions {
  int64_t layers = 4;
  int64_t width = 128;  ///< numbers per token, a multiple of 8 and of twice the heads
  int64_t heads = 4;    ///< attention heads
};

/// A transformer with one token per variable. The token of variable i is what is known of it,
///
///   sum_j W_ij E_ij + sum_j z_ij A_ij + log(1 + g_i) b + position_i,
///
/// with the standardised evidence z and its strength g: softmax(e) alone hardly differs from one variable to the next
/// early on the path, and a network with norms would drown it in the positions. Each layer adds attention between all
/// variables and a gated MLP, each of the normalised tokens; the message is the product of the last tokens with the
/// label embeddings E again, plus a bias that starts at the labels' log frequencies.
///
/// Columns of a table have embeddings of their own. Images and sequences share them between variables; positions are
/// learned, or rotations of queries and keys in sequences, whose weights then serve any length.
class TransformerField final : public Field {
 public:
  TransformerField(const Space& space, const NetOptions& options, uint64_t seed);
  torch::Tensor forward(const FieldInput& input) override;
  FieldReads reads() const override;
  bool embeds_labels() const override;
  void fit(const DataSource& source) override;
  void refresh() override;
  int64_t n_activations() const override { return cost_.n_saved; }
  NetCost cost() const override { return cost_; }
  int64_t shard_rows() const override;
  std::vector<std::string> layers() const override;

 private:
  struct Layer {
    torch::Tensor norm_attention;  // [width]
    torch::Tensor qkv;             // [3 width, width]
    torch::Tensor mix;             // [width, width]
    torch::Tensor norm_mlp;        // [width]
    torch::Tensor up;              // [2 hidden, width]
    torch::Tensor down;            // [width, hidden]
  };
  torch::Tensor tokens(const FieldInput& input) const;
  torch::Tensor shared_tokens(const FieldInput& input) const;
  torch::Tensor column_tokens(const FieldInput& input) const;
  torch::Tensor message(const torch::Tensor& tokens) const;
  torch::Tensor attention(const Layer& layer, const torch::Tensor& x) const;
  torch::Tensor rotated(const torch::Tensor& x) const;

  Space space_;
  TransformerOptions options_;
  double dropout_;
  bool standardised_;
  bool shared_;  // embeddings shared between variables
  bool rotary_;  // positions by rotation
  NetCost cost_;
  torch::Tensor by_block_;   // [n] the variables in the order of the space's blocks; undefined if there is one block
  torch::Tensor embedding_;  // E [S, width], or [c, width] if shared
  torch::Tensor evidence_;   // A, likewise
  torch::Tensor strength_;   // b [width]
  torch::Tensor position_;   // [n, width]; undefined with rotary positions
  std::vector<Layer> layers_;
  torch::Tensor norm_;  // [width]
  torch::Tensor out_;   // [width, width]
  torch::Tensor bias_;  // [S], or [c] in sequences
};

/// net.kind = "transformer".
NetKind transformer_kind();

}  // namespace segre
