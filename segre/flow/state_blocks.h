#pragma once  // internal

#include <array>

#include "segre/flow/row_blocks.h"

namespace segre {

/// Known as a list of tensors and back, for graphs whose inputs are lists: {}, {labels}, {soft} or {labels, soft}.
std::vector<torch::Tensor> tensors_of(const Known& known);

/// Which of a Known's tensors are there, as a number from 0 to kKnownShapes - 1: graphs differ by it.
int shape_of(const Known& known);
inline constexpr int kKnownShapes = 4;

/// The Known of this shape at position `first` of a list and after it.
Known known_from(int shape, const std::vector<torch::Tensor>& list, size_t first);

/// RowBlocks for functions of a state.
class StateBlocks {
 public:
  /// `body`: a state of R rows, and more tensors of R rows -> one tensor of R rows.
  using Body = std::function<torch::Tensor(const State& state, const std::vector<torch::Tensor>& more)>;
  StateBlocks(const Body& body, int64_t rows, torch::Device device);

  /// The state's time must be [R]; every call passes as many further tensors.
  torch::Tensor operator()(const State& state, const std::vector<torch::Tensor>& more = {}) const;
  int64_t rows() const { return blocks_.front()->rows(); }

 private:
  std::array<std::unique_ptr<RowBlocks>, kKnownShapes> blocks_;
};

/// D of a flow, without gradients.
std::shared_ptr<const StateBlocks> endpoint_blocks(const Flow& flow);

/// Log-probabilities of labels, Flow::log_marginals, without gradients.
std::shared_ptr<const StateBlocks> marginal_blocks(const Flow& flow);

}  // namespace segre
