#include "segre/ranks/tree_sum.h"

#include <bit>

namespace segre {
namespace {

bool are_siblings(const TreeNode& a, const TreeNode& b) {
  return a.level == b.level && a.index + 1 == b.index && a.index % 2 == 0;
}

// In place, unless the memory has another owner: two parameters whose gradients are equal may share them.
void add_to(torch::Tensor& sum, const torch::Tensor& term) {
  if (sum.use_count() > 1 || sum.storage().use_count() > 1) {
    sum = sum + term;
  } else {
    sum.add_(term);
  }
}

TreeNode joined(TreeNode left, const TreeNode& right) {
  for (size_t k = 0; k < left.sum.size(); ++k)
    if (left.sum[k].defined()) add_to(left.sum[k], right.sum[k]);
  return {left.level + 1, left.index / 2, std::move(left.sum)};
}

}  // namespace

std::vector<TreeNode> merge_nodes(std::vector<TreeNode> nodes) {
  const torch::NoGradGuard no_grad;
  std::vector<TreeNode> stack;
  for (TreeNode& next : nodes) {
    stack.push_back(std::move(next));
    while (stack.size() > 1 && are_siblings(stack[stack.size() - 2], stack.back())) {
      const TreeNode right = std::move(stack.back());
      stack.pop_back();
      stack.back() = joined(std::move(stack.back()), right);
    }
  }
  return stack;
}

TreeSum::TreeSum(std::shared_ptr<Ranks> ranks, int64_t n_leaves, std::vector<int64_t> cuts,
                 torch::TensorOptions options)
    : ranks_(std::move(ranks)), n_leaves_(n_leaves), cuts_(std::move(cuts)), options_(options), own_(ranks_->rank()) {
  const auto size = static_cast<uint64_t>(ranks_->size());
  if (!std::has_single_bit(size) || ranks_->size() > n_leaves_) return;
  // Neighbours first, as in the tree; which half of the vector is theirs does not matter to the sum.
  Rows kept{0, ranks_->size()};
  for (int distance = 1; distance < ranks_->size(); distance *= 2) {
    const int64_t middle = (kept.from + kept.to) / 2;
    const bool lower = (ranks_->rank() & distance) == 0;
    const Rows low{kept.from, middle};
    const Rows high{middle, kept.to};
    kept = lower ? low : high;
    rounds_.push_back({ranks_->rank() ^ distance, kept, lower ? high : low});
  }
  own_ = kept.from;
}

torch::Tensor TreeSum::part(const torch::Tensor& x, const Rows& segments) const {
  return x.narrow(0, cuts_[segments.from], cuts_[segments.to] - cuts_[segments.from]);
}

torch::Tensor TreeSum::reduce(std::vector<TreeNode> nodes) {
  const torch::NoGradGuard no_grad;
  if (!ranks_->are_many()) return nodes.front().sum.front();
  if (rounds_.empty()) return reduce_by_gathering(std::move(nodes));
  const torch::Tensor x = nodes.front().sum.front();
  for (const Round& round : rounds_) {
    const auto mine = part(x, round.kept);
    const auto theirs = torch::empty_like(mine);
    ranks_->swap(part(x, round.given), theirs, round.partner);
    mine.add_(theirs);
  }
  return x;
}

torch::Tensor TreeSum::reduce_by_gathering(std::vector<TreeNode> nodes) {
  const int64_t n = cuts_.back();
  auto sums = torch::empty({static_cast<int64_t>(nodes.size()), n}, options_);
  auto places = torch::empty({static_cast<int64_t>(nodes.size()), 2}, torch::kInt64);
  for (size_t k = 0; k < nodes.size(); ++k) {
    const auto row = static_cast<int64_t>(k);
    sums[row].copy_(nodes[k].sum.front());
    places[row][0] = nodes[k].level;
    places[row][1] = nodes[k].index;
  }
  nodes.clear();
  const auto all_places = ranks_->gather(places);
  const auto all_sums = ranks_->gather(sums);
  for (int64_t row = 0; row < all_places.size(0); ++row)
    nodes.push_back({all_places[row][0].item<int>(), all_places[row][1].item<int64_t>(), {all_sums[row]}});
  return merge_nodes(std::move(nodes)).front().sum.front();
}

void TreeSum::spread(const torch::Tensor& x) {
  const torch::NoGradGuard no_grad;
  if (!ranks_->are_many()) return;
  for (auto round = rounds_.rbegin(); round != rounds_.rend(); ++round)
    ranks_->swap(part(x, round->kept), part(x, round->given), round->partner);
  if (!rounds_.empty()) return;
  std::vector<int64_t> counts;
  for (int k = 0; k < ranks_->size(); ++k) counts.push_back(segment(k).count());
  x.copy_(ranks_->gather(x.narrow(0, own().from, own().count()), counts));
}

}  // namespace segre
