#include "segre/path/e_geodesic.h"

#include <cmath>

#include "segre/core/error.h"
#include "segre/path/formula_path.h"

namespace segre {
namespace {

class EGeodesic final : public FormulaPath<EGeodesic> {
 public:
  explicit EGeodesic(double eps) : eps_(eps) {
    if (!(eps > 0.0 && eps < 1.0)) fail_input("path.eps = ", eps, ": expected a number between 0 and 1");
  }
  template <class T>
  PathCoefficients<T> formula(const T& t) const {
    return {t, 1.0 - t, constant_like(t, 1.0), constant_like(t, -1.0)};
  }
  double corner_scale(int64_t c) const override { return std::log1p(static_cast<double>(c) * (1.0 - eps_) / eps_); }
  double time_at(double ratio) const override { return ratio / (1.0 + ratio); }
  double t_end() const override { return 1.0; }
  std::string name() const override { return "e-geodesic"; }

 private:
  double eps_;
};

}  // namespace

std::shared_ptr<const Path> make_e_geodesic(double eps) { return std::make_shared<EGeodesic>(eps); }

PathKind e_geodesic_kind() {
  return {.name = "e-geodesic",
          .help = "the paper's",
          .make = [](const PathOptions& options) { return make_e_geodesic(options.of<EGeodesicOptions>().eps); },
          .declare =
              [](ConfigSchema& schema, PathOptions& options) {
                schema.number("path.eps", &options.of<EGeodesicOptions>().eps, {1e-6, 0.5}, Later::fixed,
                              "smoothing of the corners (e-geodesic)");
              }};
}

}  // namespace segre
