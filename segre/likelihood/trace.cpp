#include "segre/likelihood/trace.h"

#include <torch/csrc/autograd/autograd.h>

#include "segre/core/error.h"
#include "segre/path/simplex.h"
#include "segre/space/blocks.h"

namespace segre {
namespace {

// A variable whose label has less than this spread, 1 - sum_j pi_j^2, counts as decided. In the evidence form its own
// derivative is that of its evidence, known in closed form and tiny; the dependence of the message on the variable's
// own evidence adds even less, the spread times kappa |dm_i/dv_i|. The other forms have no such term.
constexpr double kDecidedSpread = 1e-5;

// p^T (dD/dv) p for rows of states and probes.
torch::Tensor quadratic_form(const StateFunction& endpoint, const State& state, const torch::Tensor& probe) {
  const torch::AutoGradMode with_gradients(true);
  const auto v = state.v.detach().requires_grad_(true);
  const auto D = endpoint({v, state.t, state.known});
  const auto gradient = torch::autograd::grad({D}, {v}, {probe}).front();
  return (gradient.detach() * probe).sum(1, /*keepdim=*/false, torch::kFloat64);
}

}  // namespace

torch::Tensor variable_of_direction(const Space& space) {
  auto out = torch::empty({space.n_dims()}, torch::kInt64);
  auto* at = out.data_ptr<int64_t>();
  for (int64_t i = 0; i < space.n_variables(); ++i)
    for (int64_t j = 1; j < space.n_labels(i); ++j) *at++ = i;
  return out;
}

torch::Tensor tangent_vectors(const Space& space, const torch::Tensor& coordinates) {
  const auto options = coordinates.options();
  if (space.is_uniform()) {
    const int64_t c = space.max_labels();
    const auto parts = coordinates.unflatten(-1, {space.n_variables(), c - 1});
    return parts.matmul(tangent_basis(c, options).t()).flatten(-2);
  }
  std::vector<torch::Tensor> out;
  int64_t first = 0;
  for (int64_t i = 0; i < space.n_variables(); ++i) {
    const int64_t c = space.n_labels(i);
    out.push_back(coordinates.narrow(-1, first, c - 1).matmul(tangent_basis(c, options).t()));
    first += c - 1;
  }
  return torch::cat(out, -1);
}

torch::Tensor probe_classes(const Space& space, const TraceOptions& options) {
  const int64_t n_dims = space.n_dims();
  if (options.kind == TraceKind::exact) return torch::arange(n_dims);
  if (options.kind == TraceKind::hutchinson) return torch::zeros({n_dims}, torch::kInt64);
  if (options.stride < 1) fail_input("stride = ", options.stride, ": expected at least 1");
  const int64_t width = space.is(PartKind::image) ? space.item_shape()[1] : 0;
  auto out = torch::empty({n_dims}, torch::kInt64);
  auto* at = out.data_ptr<int64_t>();
  const int64_t per_residue = space.max_labels() - 1;
  for (int64_t i = 0; i < space.n_variables(); ++i) {
    const int64_t residue =
        width > 0 ? (i / width % options.stride) * options.stride + i % width % options.stride : i % options.stride;
    for (int64_t j = 0; j + 1 < space.n_labels(i); ++j) *at++ = residue * per_residue + j;
  }
  // Numbered without gaps.
  return std::get<1>(at::_unique2(out, /*sorted=*/true, /*return_inverse=*/true));
}

Trace::Trace(Flow flow, const TraceOptions& options)
    : flow_(std::move(flow)),
      options_(options),
      class_of_(probe_classes(flow_.space, options)),
      products_([endpoint = flow_.endpoint](const State& state,
                                            const auto& more) { return quadratic_form(endpoint, state, more[0]); },
                rows_per_block(flow_), flow_.options.device()) {
  if (options_.probes < 1) fail_input("probes = ", options_.probes, ": expected at least 1");
  n_classes_ = class_of_.numel() > 0 ? class_of_.max().item<int64_t>() + 1 : 0;
  class_of_ = class_of_.to(flow_.options.device());
}

torch::Tensor Trace::products(const torch::Tensor& v, double t, const Known& known, const torch::Tensor& rows,
                              const torch::Tensor& probes) const {
  const auto times = torch::full({rows.size(0)}, t, v.options());
  return products_({v.index_select(0, rows), times, known.select(rows)}, {probes});
}

torch::Tensor Trace::exact(const torch::Tensor& v, const torch::Tensor& D, double t, const Known& known) const {
  const auto direction_variable = variable_of_direction(flow_.space).to(v.device());
  auto total = torch::zeros({v.size(0)}, v.options().dtype(torch::kFloat64));
  auto wanted = torch::ones({v.size(0), flow_.space.n_dims()}, v.options().dtype(torch::kBool));
  if (flow_.from_evidence) {
    const auto kappa = variable_scales(flow_.space, *flow_.path, v.options().dtype(torch::kFloat64));
    const auto spread_of = reduce_blocks(flow_.space, {D.to(torch::kFloat64)}, [&](const auto& in) {
      const auto c = static_cast<double>(in[0].size(-1));
      const double scale = in[0].size(-1) > 1 ? flow_.path->corner_scale(in[0].size(-1)) : 1.0;
      return 1.0 - (in[0] / scale + 1.0 / c).square().sum(-1);
    });
    auto decided = spread_of < kDecidedSpread;
    if (known.labels.defined()) decided = decided.logical_and(open_variables(known));
    const auto at = flow_.path->at(t);
    total = (torch::where(decided, spread_of.clamp_min(0.0), torch::zeros_like(spread_of)) * kappa.square()).sum(1) *
            (at.a / (at.s * at.s));
    wanted = decided.logical_not().index_select(1, direction_variable);
  }
  if (known.labels.defined()) wanted = wanted.logical_and(open_variables(known).index_select(1, direction_variable));
  const auto places = wanted.nonzero();  // [products, 2]: row, direction
  if (places.size(0) == 0) return total;
  for (const auto& part : places.split(products_.rows())) {
    const auto rows = part.select(1, 0);
    const auto directions = part.select(1, 1);
    const auto coordinates =
        (torch::arange(flow_.space.n_dims(), directions.options()) == directions.unsqueeze(1)).to(v.options());
    total.index_add_(0, rows, products(v, t, known, rows, tangent_vectors(flow_.space, coordinates)));
  }
  return total;
}

torch::Tensor Trace::probed(const torch::Tensor& v, double t, const torch::Tensor& signs, const Known& known) const {
  const int64_t R = v.size(0);
  auto total = torch::zeros({R * n_classes_}, v.options().dtype(torch::kFloat64));
  const auto places = torch::arange(R * n_classes_, class_of_.options());  // row by row, class by class
  int64_t first = 0;
  for (const auto& part : places.split(products_.rows())) {
    const auto rows = part.div(n_classes_, "floor");
    const auto inside = class_of_ == part.remainder(n_classes_).unsqueeze(1);
    const auto probes = tangent_vectors(flow_.space, signs.index_select(0, rows) * inside);
    total.narrow(0, first, rows.size(0)).copy_(products(v, t, known, rows, probes));
    first += rows.size(0);
  }
  return total.view({R, n_classes_}).sum(1);
}

torch::Tensor Trace::operator()(const torch::Tensor& v, const torch::Tensor& D, double t,
                                const std::vector<uint64_t>& seeds, uint64_t number, const Known& known) const {
  if (is_exact()) return exact(v, D, t, known);
  const int64_t n_dims = flow_.space.n_dims();
  auto total = torch::zeros({v.size(0)}, v.options().dtype(torch::kFloat64));
  for (int64_t draw = 0; draw < options_.probes; ++draw) {
    auto u = torch::empty({v.size(0), n_dims}, v.options());
    const uint64_t first =
        (number * static_cast<uint64_t>(options_.probes) + static_cast<uint64_t>(draw)) * static_cast<uint64_t>(n_dims);
    for (int64_t row = 0; row < v.size(0); ++row) fill_uniform(u[row], {seeds[row], Purpose::probe}, first);
    total += probed(v, t, torch::where(u < 0.5, -torch::ones_like(u), torch::ones_like(u)), known);
  }
  return total / static_cast<double>(options_.probes);
}

}  // namespace segre
