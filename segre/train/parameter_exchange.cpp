#include "segre/train/parameter_exchange.h"

#include <algorithm>

namespace segre {
namespace {

std::vector<int64_t> offsets_of(const Tensors& parameters) {
  std::vector<int64_t> offsets{0};
  for (const auto& parameter : parameters) offsets.push_back(offsets.back() + parameter.numel());
  return offsets;
}

// Cuts between parameters, as close as possible to equal parts.
std::vector<int64_t> cuts_at(const std::vector<int64_t>& offsets, int size) {
  std::vector<int64_t> cuts{0};
  for (int k = 1; k < size; ++k) {
    const int64_t ideal = offsets.back() * k / size;
    auto next = std::lower_bound(offsets.begin(), offsets.end(), ideal);
    if (next != offsets.begin() && ideal - *(next - 1) < *next - ideal) --next;
    cuts.push_back(std::max(cuts.back(), *next));
  }
  cuts.push_back(offsets.back());
  return cuts;
}

}  // namespace

ParameterExchange::ParameterExchange(std::shared_ptr<Ranks> ranks, const Tensors& parameters, int64_t n_leaves)
    : ranks_(std::move(ranks)),
      offsets_(offsets_of(parameters)),
      tree_(ranks_, n_leaves, cuts_at(offsets_, ranks_->size()), parameters.front().options()) {
  for (const auto& parameter : parameters) parameters_.push_back(parameter.detach());  // keeps its type
}

torch::Tensor ParameterExchange::view(const torch::Tensor& x, size_t k) const {
  return x.narrow(0, offsets_[k], parameters_[k].numel()).view(parameters_[k].sizes());
}

torch::Tensor ParameterExchange::flat(const Tensors& tensors) const {
  const auto x = torch::zeros({offsets_.back()}, parameters_.front().options());
  for (size_t k = 0; k < tensors.size(); ++k)
    if (tensors[k].defined()) view(x, k).copy_(tensors[k]);
  return x;
}

// Which parameters have gradients is a matter of the network; a rank without shards learns it from the others.
void ParameterExchange::agree_on_defined(const std::vector<TreeNode>& nodes) {
  const auto found = torch::zeros({static_cast<int64_t>(parameters_.size())}, torch::kInt64);
  for (const TreeNode& node : nodes)
    for (size_t k = 0; k < parameters_.size(); ++k)
      if (node.sum[k].defined()) found[static_cast<int64_t>(k)] = 1;
  ranks_->sum(found);
  for (size_t k = 0; k < parameters_.size(); ++k)
    defined_.push_back(found[static_cast<int64_t>(k)].item<int64_t>() > 0);
}

Tensors ParameterExchange::sum(std::vector<TreeNode> nodes) {
  const torch::NoGradGuard no_grad;
  if (defined_.empty()) agree_on_defined(nodes);
  for (TreeNode& node : nodes) node.sum = {flat(node.sum)};
  const auto x = tree_.reduce(std::move(nodes));
  Tensors gradients(parameters_.size());
  for (size_t k = 0; k < parameters_.size(); ++k)
    if (owns(k) && defined_[k]) gradients[k] = view(x, k);
  return gradients;
}

void ParameterExchange::spread(const Tensors& tensors) {
  const torch::NoGradGuard no_grad;
  const auto x = flat(tensors);
  tree_.spread(x);
  for (size_t k = 0; k < tensors.size(); ++k)
    if (!owns(k)) tensors[k].copy_(view(x, k));
}

Tensors ParameterExchange::whole(const Tensors& parts, const std::optional<torch::Device>& where) {
  Tensors tensors;
  for (size_t k = 0; k < parts.size(); ++k)
    tensors.push_back(parts[k].defined() ? parts[k] : torch::zeros_like(parameters_[k]));
  spread(tensors);
  return where ? tensors : Tensors(parts.size());
}

torch::Tensor ParameterExchange::spread_numbers(const torch::Tensor& numbers) {
  const auto x = numbers.clone();
  for (size_t k = 0; k < parameters_.size(); ++k)
    if (!owns(k)) x[static_cast<int64_t>(k)] = 0.0;
  ranks_->sum(x);  // one term of each sum is not 0, so it is exact
  return x;
}

}  // namespace segre
