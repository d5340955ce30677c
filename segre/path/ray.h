#pragma once

#include "segre/path/path_kinds.h"

namespace segre {

/// Options of the ray.
struct RayOptions {
  double rate = 0.5;  ///< its speed
};

/// The infinite-time ray of Generative Assignment Flows (2024): a = rate * t, s = 1, |u_beta| = 1, t in [0, inf).
std::shared_ptr<const Path> make_ray(double rate);

/// path.kind = "ray".
PathKind ray_kind();

}  // namespace segre
