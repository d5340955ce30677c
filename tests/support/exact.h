#pragma once

#include <algorithm>

#include "tests/support/support.h"

// Comparison of kernels with their twins in float64.

namespace segre::test {

/// A copy in float64 on the CPU, without its history; undefined if x is.
inline torch::Tensor exact(const torch::Tensor& x) {
  return x.defined() ? x.detach().to(torch::kCPU, torch::kFloat64).clone() : x;
}

/// Expects the same shape and a difference below `tol` times the largest entry, or times 1 if that is smaller. Both may
/// be undefined.
inline void expect_near(const torch::Tensor& found, const torch::Tensor& wanted, double tol, const char* what) {
  ASSERT_EQ(found.defined(), wanted.defined()) << what;
  if (!found.defined()) return;
  ASSERT_EQ(found.sizes(), wanted.sizes()) << what;
  const double scale = std::max(1.0, wanted.abs().max().item<double>());
  EXPECT_LT(max_difference(exact(found), wanted), tol * scale) << what;
}

}  // namespace segre::test
