#include "segre/net/tree.h"

#include "segre/core/error.h"
#include "segre/net/layers.h"
#include "segre/net/tree_fit.h"
#include "segre/path/fill.h"
#include "segre/path/simplex.h"

namespace segre {
namespace {

// exp of this is far below kLeastProbability, but no underflow, which some libraries treat number by number.
constexpr double kLeastExponent = -80.0;

// log sum_b exp(x_b) T_ab for each of k tables: x [B, k, width], T [k, width, width] -> [B, k, width].
torch::Tensor through(const torch::Tensor& x, const torch::Tensor& tables) {
  const auto most = x.amax(-1, /*keepdim=*/true).detach();
  const auto p = (x - most).clamp_min(kLeastExponent).exp().transpose(0, 1);  // [k, B, width]
  return (torch::bmm(p, tables.transpose(1, 2)) + kLeastProbability).log().transpose(0, 1) + most;
}

}  // namespace

TreeField::TreeField(const Space& space) : space_(space), n_(space.n_variables()), width_(space.max_labels()) {
  parents_ = add_buffer("parents", torch::full({n_}, -1, torch::kInt64));
  marginals_ = add_buffer("marginals", torch::zeros({n_, width_}));
  tables_ = add_buffer("tables", torch::zeros({n_, width_, width_}));
  for (int64_t i = 0; i < n_; ++i)
    marginals_[i].narrow(0, 0, space.n_labels(i)).fill_(1.0 / static_cast<double>(space.n_labels(i)));
  refresh();
}

void TreeField::fit(const DataSource& source) {
  set(count_tree(source));
  if (!source.has_unknowns()) return;
  constexpr int64_t kRounds = 10;
  for (int64_t round = 0; round < kRounds; ++round)
    set(count_tree(source, [&](const torch::Tensor& labels, int64_t first) { return filled(labels, first, round); }));
}

// Labels [B, n] with holes drawn from the tree. The seed is of the counting, which has none of its own.
torch::Tensor TreeField::filled(const torch::Tensor& labels, int64_t first, int64_t round) {
  constexpr int64_t kSteps = 4;
  const auto rows = (labels == kUnknown).any(1).nonzero().flatten();
  if (rows.numel() == 0) return labels;
  const auto uniforms = [&](int64_t part) {
    return fill_uniform(torch::empty(labels.sizes()), RandomStream(round, Purpose::training_holes).part(part),
                        static_cast<uint64_t>(first * n_))
        .index_select(0, rows);
  };
  const auto log_marginals = [&](const torch::Tensor& so_far) {
    const auto evenly = lift(space_, torch::zeros({so_far.size(0), space_.n_coordinates()}));
    return log_lift(space_, forward({.W = with_corners(space_, {.labels = so_far}, evenly), .t = torch::zeros({1})}));
  };
  const auto whole = fill_unknown(space_, labels.index_select(0, rows),
                                  {.steps = kSteps,
                                   .log_marginals = log_marginals,
                                   .uniforms = uniforms,
                                   .priority = [&](const torch::Tensor& /*p*/) { return uniforms(kSteps); }});
  return labels.index_copy(0, rows, whole);
}

void TreeField::set(const CountedTree& tree) {
  parents_.copy_(torch::tensor(tree.parents, torch::kInt64));
  marginals_.copy_(tree.marginals);
  tables_.copy_(tree.tables);
  refresh();
}

// Derives the levels from the parents. A damaged checkpoint may hold parents that form no forest.
void TreeField::refresh() {
  const auto on_host = parents_.to(torch::kCPU);
  const auto* parents = on_host.data_ptr<int64_t>();
  const auto device = parents_.device();
  // A captured step keeps reading the tensors of its levels, so the same tree must stay where it is.
  if (built_from_.defined() && torch::equal(built_from_, on_host) && levels_[0].variables.device() == device) {
    for (const Level& level : levels_)
      if (level.tables.defined()) level.tables.copy_(tables_.index_select(0, level.variables));
    return;
  }
  built_from_ = on_host.clone();
  levels_.clear();
  std::vector<int64_t> position(n_, -1);  // within its level
  std::vector<int64_t> level_of(n_, -1);
  int64_t found = 0;
  for (int64_t level = 0; found < n_; ++level) {
    std::vector<int64_t> variables;
    std::vector<int64_t> above;
    for (int64_t i = 0; i < n_; ++i) {
      const int64_t parent = parents[i];
      if (parent < -1 || parent >= n_) fail_input("a tree's variable ", i, " has the parent ", parent);
      const bool here = level == 0 ? parent == -1 : parent >= 0 && level_of[parent] == level - 1;
      if (!here) continue;
      position[i] = static_cast<int64_t>(variables.size());
      variables.push_back(i);
      if (level > 0) above.push_back(position[parent]);
    }
    if (variables.empty()) fail_input("a tree's parents form a circle");
    for (const int64_t i : variables) level_of[i] = level;
    found += static_cast<int64_t>(variables.size());
    Level next{torch::tensor(variables, torch::kInt64).to(device), {}, {}};
    if (level > 0) {
      next.parents = torch::tensor(above, torch::kInt64).to(device);
      next.tables = tables_.index_select(0, next.variables);
    }
    levels_.push_back(std::move(next));
  }
  std::vector<torch::Tensor> by_level;
  for (const Level& level : levels_) by_level.push_back(level.variables);
  from_levels_ = torch::cat(by_level).argsort();
  std::vector<int64_t> to(n_ * width_, space_.n_coordinates());
  std::vector<int64_t> from(space_.n_coordinates());
  for (int64_t i = 0; i < n_; ++i)
    for (int64_t j = 0; j < space_.n_labels(i); ++j) {
      to[i * width_ + j] = space_.offset(i) + j;
      from[space_.offset(i) + j] = i * width_ + j;
    }
  to_padded_ = torch::tensor(to, torch::kInt64).to(device);
  from_padded_ = torch::tensor(from, torch::kInt64).to(device);
}

// [B, S] -> [B, n, width], 0 where there is no label.
torch::Tensor TreeField::padded(const torch::Tensor& points) const {
  const auto zero = torch::zeros({points.size(0), 1}, points.options().requires_grad(false));
  return torch::cat({points, zero}, 1).index_select(1, to_padded_).view({points.size(0), n_, width_});
}

torch::Tensor TreeField::forward(const FieldInput& input) {
  const int64_t B = input.W.size(0);
  const auto type = input.W.scalar_type();
  const auto own = (padded(input.W) + kLeastProbability).log();  // [B, n, width]
  const auto n_levels = static_cast<int64_t>(levels_.size());
  std::vector<torch::Tensor> belief(n_levels);  // own evidence and all messages from below: [B, k, width]
  std::vector<torch::Tensor> up(n_levels);      // to the parents
  std::vector<torch::Tensor> from_below(n_levels);
  for (int64_t d = n_levels - 1; d >= 0; --d) {
    const Level& level = levels_[d];
    const auto evidence = own.index_select(1, level.variables);
    from_below[d] = torch::zeros_like(evidence);
    if (d + 1 < n_levels) from_below[d] = from_below[d].index_add(1, levels_[d + 1].parents, up[d + 1]);
    belief[d] = evidence + from_below[d];
    if (d > 0) up[d] = through(belief[d], level.tables.to(type));
  }
  std::vector<torch::Tensor> down(n_levels);  // from the parents
  std::vector<torch::Tensor> messages;
  down[0] = (marginals_.index_select(0, levels_[0].variables).to(type) + kLeastProbability).log().expand_as(belief[0]);
  for (int64_t d = 0; d < n_levels; ++d) {
    const Level& level = levels_[d];
    if (d > 0) {
      const auto of_parent = (down[d - 1] + belief[d - 1]).index_select(1, level.parents) - up[d];
      down[d] = through(of_parent, level.tables.transpose(1, 2).to(type));
    }
    messages.push_back(down[d] + from_below[d]);
  }
  return torch::cat(messages, 1).index_select(1, from_levels_).reshape({B, n_ * width_}).index_select(1, from_padded_);
}

NetCost TreeField::cost() const {
  NetCost cost{.n_saved = n_activations()};
  cost.forward_flops = 4.0 * static_cast<double>(tables_.numel());
  cost.training_flops = cost.forward_flops;
  return cost;
}

NetKind tree_kind() {
  return {.name = "tree",
          .help = "a Chow-Liu tree, counted from the data, for tables and model.form = \"evidence\"",
          .make = [](const Space& space, const NetOptions& /*options*/,
                     uint64_t /*seed*/) { return std::make_shared<TreeField>(space); },
          .count =
              [](const Space& space, const NetOptions& /*options*/) {
                const auto width = static_cast<double>(space.max_labels());
                return static_cast<double>(space.n_variables()) * (width + 1.0) * width;
              },
          .describe = [](const NetOptions& /*options*/) { return std::string("Chow-Liu tree"); },
          .evidence_only = true,
          .counted = true};
}

}  // namespace segre
