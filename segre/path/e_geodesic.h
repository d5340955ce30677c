#pragma once

#include "segre/path/path_kinds.h"

namespace segre {

/// Options of the e-geodesic path.
struct EGeodesicOptions {
  double eps = 0.01;  ///< smoothing of the corners
};

/// The paper's path along e-geodesics from noise to the smoothed corner q = eps/c + (1 - eps) e_beta:
/// a = t, s = 1 - t, kappa = log(1 + c (1 - eps)/eps), t in [0, 1].
std::shared_ptr<const Path> make_e_geodesic(double eps);

/// path.kind = "e-geodesic".
PathKind e_geodesic_kind();

}  // namespace segre
