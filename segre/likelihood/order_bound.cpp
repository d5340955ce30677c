#include "segre/likelihood/order_bound.h"

#include <algorithm>

#include "segre/core/error.h"
#include "segre/core/memory.h"
#include "segre/core/parallel.h"
#include "segre/core/rng.h"
#include "segre/space/blocks.h"

namespace segre {
namespace {

// Random priorities of the cells, R rows of one item: [R, n] on the CPU.
torch::Tensor priorities(uint64_t seed, int64_t rows, int64_t n) {
  return fill_uniform(torch::empty({rows, n}), {seed, Purpose::fill_order}, 0);
}

// The position of each open cell in the order of its priority, from 0; closed ones come last: [R, n].
torch::Tensor ranks(const torch::Tensor& priority, const torch::Tensor& open) {
  return torch::where(open, priority, torch::full({1}, 2.0)).argsort(/*stable=*/true, 1, false).argsort(int64_t{1});
}

}  // namespace

OrderBound::OrderBound(Flow flow, const OrderOptions& options)
    : flow_(std::move(flow)), options_(options), marginals_(marginal_blocks(flow_)) {
  if (!flow_.from_evidence)
    fail_input("the order bound needs a model with model.form = \"evidence\", which accepts known labels");
  if (options_.order == LabelOrder::any && (options_.times < 2 || options_.times % 2 != 0))
    fail_input("times = ", options_.times, ": expected a multiple of 2");
  require_row_memory();
}

int64_t OrderBound::evaluations() const {
  return options_.order == LabelOrder::any ? options_.times : flow_.space.n_variables();
}

// On the CPU each item is computed separately; on a GPU a block of rows holds as many as fit.
int64_t OrderBound::items_per_block() const {
  return flow_.options.device().is_cpu() ? 1 : std::max<int64_t>(1, marginals_->rows() / evaluations());
}

void OrderBound::require_row_memory() const {
  const auto rows = static_cast<double>(evaluations());
  const auto numbers =
      2.0 * static_cast<double>(flow_.space.n_variables()) + 3.0 * static_cast<double>(flow_.space.n_coordinates());
  require_memory(8.0 * rows * numbers, concat("scoring an item of the ", flow_.space.describe(), " in an order"),
                 torch::kCPU);
}

int64_t OrderBound::items_per_call() const { return items_per_block() * n_threads(); }

// Sets of known cells of random sizes: each row shows all but m of the open cells, m from 1 to all of them.
OrderBound::Marks OrderBound::random_sets(const torch::Tensor& labels, const torch::Tensor& marks,
                                          uint64_t seed) const {
  const int64_t R = options_.times;
  const auto open = marks == kUnknown;  // [1, n]
  const auto n_open = open.sum().to(torch::kFloat64);
  const auto u = fill_uniform(torch::empty({R}), {seed, Purpose::likelihood_time}, 0).to(torch::kFloat64);
  const auto stratum = torch::arange(R, torch::kFloat64).div(2, "floor");
  const auto hidden = ((u + stratum) / static_cast<double>(R / 2) * n_open).floor().clamp_max(n_open - 1) + 1.0;  // [R]
  const auto rank = ranks(priorities(seed, R, labels.size(1)), open);
  const auto asked = open.logical_and(rank < hidden.unsqueeze(1));
  return {torch::where(open.logical_and(asked.logical_not()), labels, marks),
          torch::where(asked, (n_open / hidden).unsqueeze(1), torch::zeros({1}, torch::kFloat64))};
}

// Row k shows the first k cells of the order; the next is wanted. The order is the same for all items: if it depended
// on the labels, the probabilities of all labelings would not add up to 1.
OrderBound::Marks OrderBound::in_order(const torch::Tensor& labels, const torch::Tensor& marks) const {
  const int64_t n = labels.size(1);
  const auto open = marks == kUnknown;
  const auto priority = options_.order == LabelOrder::random
                            ? priorities(options_.seed, 1, n)
                            : torch::arange(n, torch::kFloat32).unsqueeze(0) / static_cast<double>(n);
  const auto rank = ranks(priority, open);
  const auto step = torch::arange(std::max<int64_t>(1, open.sum().item<int64_t>())).unsqueeze(1);
  const auto asked = open.logical_and(rank == step).to(torch::kFloat64);
  return {torch::where(open.logical_and(rank < step), labels, marks), asked};
}

// -log p of a few items, each as rows to be averaged (any) or summed: [R, n] float64.
std::vector<torch::Tensor> OrderBound::parts_of(const torch::Tensor& labels, const torch::Tensor& marks,
                                                const uint64_t* seeds) const {
  std::vector<torch::Tensor> known;
  std::vector<torch::Tensor> weights;
  std::vector<torch::Tensor> repeated;
  std::vector<int64_t> sizes;
  for (int64_t k = 0; k < labels.size(0); ++k) {
    const auto row = labels.slice(0, k, k + 1);
    const auto mark = marks.slice(0, k, k + 1);
    const Marks rows = options_.order == LabelOrder::any ? random_sets(row, mark, seeds[k]) : in_order(row, mark);
    known.push_back(rows.known);
    weights.push_back(rows.weight);
    sizes.push_back(rows.known.size(0));
    repeated.push_back(row.expand_as(rows.known));
  }
  const auto device = flow_.options.device();
  const auto all = torch::cat(known).to(device);
  const auto all_log_pi = marginals_given(
      flow_, [this](const State& state) { return (*marginals_)(state); }, {.labels = all}, all.size(0));
  const auto log_pi = pick(flow_.space, all_log_pi.to(torch::kFloat64), torch::cat(repeated).to(device));
  const auto weight = torch::cat(weights);
  return (-torch::where(weight > 0.0, weight * log_pi.cpu(), 0.0)).split_with_sizes(sizes);
}

ItemScores OrderBound::operator()(const torch::Tensor& all_labels) const {
  const torch::NoGradGuard no_grad;
  check_labels(flow_.space, all_labels, Unknowns::allow);
  const int64_t N = all_labels.size(0);
  const auto seeds = item_seeds(all_labels, options_.seed);
  const Known known = known_of(all_labels, options_.given);
  const auto labels = all_labels.clamp_min(0);
  std::vector<torch::Tensor> values(N);
  std::vector<torch::Tensor> cells(N);
  const bool averaged = options_.order == LabelOrder::any;
  const auto all_marks = known.labels.defined() ? known.labels : torch::full_like(labels, kUnknown);
  const int64_t per_block = items_per_block();
  for_each_block((N + per_block - 1) / per_block, flow_.options.device().is_cpu(), [&](int64_t block) {
    const torch::NoGradGuard no_grad_here;
    const int64_t first = block * per_block;
    const int64_t last = std::min(N, first + per_block);
    const auto parts = parts_of(labels.slice(0, first, last), all_marks.slice(0, first, last), &seeds[first]);
    for (int64_t k = first; k < last; ++k) {
      const auto& part = parts[k - first];
      values[k] = averaged ? part.sum(1) : part.sum().view(1);
      cells[k] = averaged ? part.mean(0) : part.sum(0);
    }
  });
  if (N == 0) return {.log_p = torch::empty({0}, torch::kFloat64), .std_error = torch::empty({0}, torch::kFloat64)};
  const auto all = torch::stack(values);  // [N, R or 1]
  if (!all.isfinite().all().item<bool>())
    fail("the network returned probabilities that are not finite; the model's weights may be damaged");
  ItemScores scores{.log_p = -all.mean(1),
                    .std_error = averaged ? stratified_error(all) : torch::zeros({N}, torch::kFloat64)};
  if (options_.per_variable) scores.cells = -torch::stack(cells);
  return scores;
}

}  // namespace segre
