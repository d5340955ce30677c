#include "segre/path/ray.h"

#include <cmath>
#include <limits>

#include "segre/core/error.h"
#include "segre/path/formula_path.h"

namespace segre {
namespace {

class Ray final : public FormulaPath<Ray> {
 public:
  explicit Ray(double rate) : rate_(rate) {
    if (!(rate > 0.0)) fail_input("path.rate = ", rate, ": expected a number above 0");
  }
  template <class T>
  PathCoefficients<T> formula(const T& t) const {
    return {rate_ * t, constant_like(t, 1.0), constant_like(t, rate_), constant_like(t, 0.0)};
  }
  // |e_j - 1/c| = sqrt(1 - 1/c); a variable with one label has nothing to decide.
  double corner_scale(int64_t c) const override {
    return c == 1 ? 0.0 : 1.0 / std::sqrt(1.0 - 1.0 / static_cast<double>(c));
  }
  double time_at(double ratio) const override { return ratio / rate_; }
  double t_end() const override { return std::numeric_limits<double>::infinity(); }
  std::string name() const override { return "ray"; }

 private:
  double rate_;
};

}  // namespace

std::shared_ptr<const Path> make_ray(double rate) { return std::make_shared<Ray>(rate); }

PathKind ray_kind() {
  return {
      .name = "ray",
      .help = "a straight line that never ends, of Generative Assignment Flows (2024)",
      .make = [](const PathOptions& options) { return make_ray(options.of<RayOptions>().rate); },
      .declare =
          [](ConfigSchema& schema, PathOptions& options) {
            schema.number("path.rate", &options.of<RayOptions>().rate, {1e-3, 1e3}, Later::fixed, "speed of the ray");
          }};
}

}  // namespace segre
