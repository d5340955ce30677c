#pragma once

#include <type_traits>

#include "segre/path/path.h"

namespace segre {

/// A path that defines its coefficients once, for both numbers and tensors. Derived has a public
/// template <class T> PathCoefficients<T> formula(const T& t) const.
template <class Derived>
class FormulaPath : public Path {
 public:
  PathCoefficients<double> at(double t) const override { return static_cast<const Derived&>(*this).formula(t); }
  PathCoefficients<torch::Tensor> at(const torch::Tensor& t) const override {
    return static_cast<const Derived&>(*this).formula(t);
  }

 protected:
  /// A constant in the shape of t.
  template <class T>
  static T constant_like(const T& t, double value) {
    if constexpr (std::is_same_v<T, double>) {
      return value;
    } else {
      return torch::full_like(t, value);
    }
  }
};

}  // namespace segre
