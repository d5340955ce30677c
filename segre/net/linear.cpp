#include "segre/net/linear.h"

#include <cmath>

#include "segre/net/layers.h"

namespace segre {

LinearField::LinearField(const Space& space, const NetOptions& options, uint64_t seed)
    : n_time_(options.time_features) {
  const int64_t S = space.n_coordinates();
  WeightSource source(seed);
  weight_ = add_parameter("weight", source.uniform({S, S}, 1.0 / std::sqrt(static_cast<double>(S))));
  if (n_time_ > 0)
    time_weight_ = add_parameter("time_weight",
                                 source.uniform({S, 2 * n_time_}, 1.0 / std::sqrt(2.0 * static_cast<double>(n_time_))));
}

torch::Tensor LinearField::forward(const FieldInput& input) {
  if (n_time_ == 0) return input.W.mm(weight_.t());
  return torch::addmm(time_features(input.t, n_time_).mm(time_weight_.t()), input.W, weight_.t());
}

NetKind linear_kind() {
  return {.name = "linear",
          .help = "one matrix, the paper's for coupled binary variables",
          .make = [](const Space& space, const NetOptions& options,
                     uint64_t seed) { return std::make_shared<LinearField>(space, options, seed); },
          .count =
              [](const Space& space, const NetOptions& options) {
                const auto S = static_cast<double>(space.n_coordinates());
                return S * (S + 2.0 * static_cast<double>(options.time_features));
              }};
}

}  // namespace segre
