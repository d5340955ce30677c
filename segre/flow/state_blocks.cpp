#include "segre/flow/state_blocks.h"

namespace segre {

std::vector<torch::Tensor> tensors_of(const Known& known) {
  std::vector<torch::Tensor> list;
  for (const auto& tensor : {known.labels, known.soft})
    if (tensor.defined()) list.push_back(tensor);
  return list;
}

int shape_of(const Known& known) { return (known.labels.defined() ? 1 : 0) + (known.soft.defined() ? 2 : 0); }

Known known_from(int shape, const std::vector<torch::Tensor>& list, size_t first) {
  Known known;
  if ((shape & 1) != 0) known.labels = list[first++];
  if ((shape & 2) != 0) known.soft = list[first];
  return known;
}

StateBlocks::StateBlocks(const Body& body, int64_t rows, torch::Device device) {
  for (int shape = 0; shape < kKnownShapes; ++shape) {
    const auto of_list = [body, shape](const std::vector<torch::Tensor>& in) {
      const Known known = known_from(shape, in, 2);
      const auto n_known = static_cast<int64_t>(tensors_of(known).size());
      return body({in[0], in[1], known}, {in.begin() + 2 + n_known, in.end()});
    };
    blocks_[shape] = std::make_unique<RowBlocks>(of_list, rows, device);
  }
}

torch::Tensor StateBlocks::operator()(const State& state, const std::vector<torch::Tensor>& more) const {
  std::vector<torch::Tensor> inputs{state.v, state.t};
  for (const auto& tensor : tensors_of(state.known)) inputs.push_back(tensor);
  inputs.insert(inputs.end(), more.begin(), more.end());
  return (*blocks_[shape_of(state.known)])(inputs);
}

namespace {

std::shared_ptr<const StateBlocks> blocks_of(const Flow& flow, const StateFunction& function) {
  const auto body = [function](const State& state, const auto&) {
    const torch::NoGradGuard no_grad;
    return function(state);
  };
  return std::make_shared<StateBlocks>(body, rows_per_block(flow), flow.options.device());
}

}  // namespace

std::shared_ptr<const StateBlocks> endpoint_blocks(const Flow& flow) { return blocks_of(flow, flow.endpoint); }

std::shared_ptr<const StateBlocks> marginal_blocks(const Flow& flow) { return blocks_of(flow, flow.log_marginals); }

}  // namespace segre
