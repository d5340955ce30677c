#include "segre/data/joint_table.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <numeric>

#include "segre/core/error.h"
#include "segre/core/memory.h"
#include "segre/core/parallel.h"

namespace segre {
namespace {

// The weights as float64. InputError unless each labeling has one, finite and non-negative.
torch::Tensor checked_weights(const torch::Tensor& weights, int64_t n_labelings) {
  if (!weights.defined() || weights.dim() != 1 || weights.size(0) != n_labelings)
    fail_input("a joint distribution needs a weight for each of its ", n_labelings, " labelings, found ",
               weights.defined() ? concat("shape ", weights.sizes()) : "no tensor");
  const auto values = weights.to(torch::kCPU, torch::kFloat64).contiguous();
  const auto* value = values.data_ptr<double>();
  for (int64_t r = 0; r < n_labelings; ++r)
    if (!std::isfinite(value[r]) || value[r] < 0.0)
      fail_input("the weight of labeling ", r, " is ", value[r], ", a finite non-negative number was expected");
  return values;
}

}  // namespace

void check_joint(const JointTable& table) {
  check_labels(table.space, table.labelings);
  const auto p = checked_weights(table.p, table.labelings.size(0));
  if (table.p.scalar_type() != torch::kFloat64)
    fail_input("the probabilities of a joint distribution are ", table.p.dtype().name(), ", double was expected");
  if (const double total = p.sum().item<double>(); p.numel() == 0 || std::abs(total - 1.0) > kJointSumTolerance)
    fail_input("the probabilities of a joint distribution sum to ", std::setprecision(10), total,
               ", expected 1 within ", kJointSumTolerance);
}

JointTable make_joint_table(const Space& space, const torch::Tensor& labelings, const torch::Tensor& weights,
                            const Origin& origin) {
  check_labels(space, labelings);
  const auto values = checked_weights(weights, labelings.size(0));
  const auto keep = (values > 0).nonzero().squeeze(1);
  const auto kept = values.index_select(0, keep);
  if (kept.numel() == 0) fail_input("a joint distribution needs at least one labeling with positive probability");
  if (!std::isfinite(kept.sum().item<double>()))
    fail_input("the sum of the weights of a joint distribution overflows; divide them all by the largest");
  return {space, labelings.index_select(0, keep).contiguous(), kept / kept.sum(), origin.select(keep)};
}

JointSampler::JointSampler(const JointTable& table) : labelings_(table.labelings) {
  check_joint(table);
  const auto p = table.p.contiguous();
  cumulative_.resize(p.numel());
  std::partial_sum(p.data_ptr<double>(), p.data_ptr<double>() + p.numel(), cumulative_.begin());
}

torch::Tensor JointSampler::draw(const RandomStream& random, uint64_t first_item, int64_t count) const {
  require_memory(8.0 * static_cast<double>(count) * static_cast<double>(labelings_.size(1) + 1),
                 concat(count, " items of ", labelings_.size(1), " variables"), torch::kCPU);
  auto rows = torch::empty({count}, torch::kInt64);
  auto* row = rows.data_ptr<int64_t>();
  const auto last = static_cast<int64_t>(cumulative_.size()) - 1;
  constexpr int64_t kGrain = 4096;
  parallel_for(0, count, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const double u = uniform_double(random, first_item + static_cast<uint64_t>(k)) * cumulative_.back();
      const auto at = std::upper_bound(cumulative_.begin(), cumulative_.end(), u);
      row[k] = std::min<int64_t>(at - cumulative_.begin(), last);
    }
  });
  return labelings_.index_select(0, rows);
}

}  // namespace segre
