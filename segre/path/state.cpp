#include "segre/path/state.h"

#include "segre/space/blocks.h"

namespace segre {
namespace {

template <class Fn>
Known apply(const Known& known, Fn&& fn) {
  Known out;
  if (known.labels.defined()) out.labels = fn(known.labels);
  if (known.soft.defined()) out.soft = fn(known.soft);
  return out;
}

}  // namespace

Known Known::slice(int64_t from, int64_t to) const {
  return apply(*this, [&](const torch::Tensor& x) { return x.slice(0, from, to); });
}

Known Known::select(const torch::Tensor& rows) const {
  return apply(*this, [&](const torch::Tensor& x) { return x.index_select(0, rows.to(x.device())); });
}

Known Known::repeat_each(int64_t times) const {
  return apply(*this, [&](const torch::Tensor& x) { return x.repeat_interleave(times, 0); });
}

Known Known::to(torch::TensorOptions options) const {
  Known out;
  if (labels.defined()) out.labels = labels.to(options.device());
  if (soft.defined()) out.soft = soft.to(options);
  return out;
}

Known known_of(const torch::Tensor& labels, const torch::Tensor& given) {
  const auto missing = labels < 0;
  if (!given.defined() && !missing.any().item<bool>()) return {};
  auto marks = torch::where(missing, torch::full_like(labels, kLeftOut), torch::full_like(labels, kUnknown));
  if (given.defined())
    marks = torch::where(missing.logical_not().logical_and(given.to(labels.device())), labels, marks);
  return {.labels = marks};
}

torch::Tensor open_variables(const Known& known) {
  return known.labels.defined() ? known.labels == kUnknown : torch::Tensor();
}

torch::Tensor only_open(const Space& space, const Known& known, const torch::Tensor& x) {
  if (!known.labels.defined()) return x;
  return torch::where(spread(space, open_variables(known)), x, torch::zeros({1}, x.options()));
}

torch::Tensor sum_open(const Known& known, const torch::Tensor& x) {
  if (!known.labels.defined()) return x.sum(1, /*keepdim=*/false, torch::kFloat64);
  return torch::where(open_variables(known), x, torch::zeros({1}, x.options())).sum(1, false, torch::kFloat64);
}

torch::Tensor with_corners(const Space& space, const Known& known, const torch::Tensor& W) {
  if (!known.labels.defined()) return W;
  const auto corners = one_hot(space, known.labels.clamp_min(0), W.options().requires_grad(false));
  return torch::where(spread(space, known.labels >= 0), corners, W);
}

}  // namespace segre
