#include "segre/path/path.h"

#include <cmath>
#include <map>

#include "segre/core/error.h"
#include "segre/path/simplex.h"
#include "segre/space/blocks.h"

namespace segre {
namespace {

// Per-item factors multiply whole rows: [B] -> [B, 1]; a single time broadcasts as it is.
torch::Tensor as_column(const torch::Tensor& t) { return t.dim() == 1 ? t.unsqueeze(-1) : t; }

// Union bound on the probability of misreading any label at a/s = ratio.
double misread_bound(const std::map<int64_t, int64_t>& n_of_labels, const Path& path, double ratio) {
  double bound = 0.0;
  for (const auto& [c, count] : n_of_labels) {
    const double tail = 0.5 * std::erfc(path.corner_scale(c) * ratio / 2.0);  // Q(x / sqrt 2) = erfc(x / 2) / 2
    bound += static_cast<double>(count) * static_cast<double>(c - 1) * tail;
  }
  return bound;
}

}  // namespace

torch::Tensor variable_scales(const Space& space, const Path& path, torch::TensorOptions options) {
  if (space.is_uniform()) return torch::full({space.n_variables()}, path.corner_scale(space.max_labels()), options);
  auto scales = torch::empty({space.n_variables()}, torch::kFloat64);
  auto* out = scales.data_ptr<double>();
  for (int64_t i = 0; i < space.n_variables(); ++i) out[i] = path.corner_scale(space.n_labels(i));
  return scales.to(options);
}

torch::Tensor corner_scales(const Space& space, const Path& path, torch::TensorOptions options) {
  return spread(space, variable_scales(space, path, options));
}

torch::Tensor corners(const Space& space, const Path& path, const torch::Tensor& labels, torch::TensorOptions options) {
  return mean_corner(space, path, one_hot(space, labels, options));
}

torch::Tensor mean_corner(const Space& space, const Path& path, const torch::Tensor& pi) {
  return map_blocks(space, {pi}, [&](const auto& in) {
    const int64_t c = in[0].size(-1);
    return (in[0] - 1.0 / static_cast<double>(c)) * path.corner_scale(c);
  });
}

torch::Tensor label_probabilities(const Space& space, const Path& path, const torch::Tensor& D) {
  return map_blocks(space, {D}, [&](const auto& in) {
    const int64_t c = in[0].size(-1);
    const double kappa = c > 1 ? path.corner_scale(c) : 1.0;
    return in[0] / kappa + 1.0 / static_cast<double>(c);
  });
}

torch::Tensor evidence_scale(const Space& space, const Path& path, const torch::Tensor& t) {
  const auto at = path.at(t);
  return as_column(at.a / at.s.square()) * corner_scales(space, path, t.options());
}

torch::Tensor velocity_from_endpoint(const Path& path, const torch::Tensor& D, const torch::Tensor& v,
                                     const torch::Tensor& t) {
  const auto at = path.at(t);
  const auto pull = at.ds / at.s;
  return as_column(at.da - at.a * pull) * D + as_column(pull) * v;
}

torch::Tensor endpoint_from_velocity(const Path& path, const torch::Tensor& F, const torch::Tensor& v,
                                     const torch::Tensor& t) {
  const auto at = path.at(t);
  const auto pull = at.ds / at.s;
  return (F - as_column(pull) * v) / as_column(at.da - at.a * pull);
}

torch::Tensor matched_readout(const Space& space, const Path& path, const torch::Tensor& v, double t) {
  return log_lift(space, v * evidence_scale(space, path, torch::tensor(t, v.options())));
}

double decision_time(const Space& space, const Path& path, double error) {
  std::map<int64_t, int64_t> n_of_labels;
  if (space.is_uniform()) {
    n_of_labels[space.max_labels()] = space.n_variables();
  } else {
    for (int64_t i = 0; i < space.n_variables(); ++i) ++n_of_labels[space.n_labels(i)];
  }
  // The bound decreases with t on every path; bisect in a clock that is finite for both kinds.
  double low = 0.0;
  double high = std::isinf(path.t_end()) ? 1e6 : path.t_end() - 1e-6;
  for (int k = 0; k < 200 && high - low > 1e-9 * high; ++k) {
    const double t = 0.5 * (low + high);
    const auto at = path.at(t);
    (misread_bound(n_of_labels, path, at.a / at.s) > error ? low : high) = t;
  }
  return high;
}

double reading_time(const Space& space, const Path& path, double asked) {
  if (asked == 0.0) return decision_time(space, path);
  if (!(asked > 0.0 && asked < path.t_end()))
    fail_input("t1 = ", asked, ": expected a time between 0 and the path's end, ", path.t_end());
  return asked;
}

}  // namespace segre
