#include "segre/path/path_sample.h"

#include <cmath>
#include <numbers>

#include "segre/path/e_geodesic.h"
#include "segre/path/simplex.h"
#include "tests/support/reference.h"

namespace segre::path_sample_test {
namespace {

using test::both_paths;
using test::max_difference;
using test::mixed_space;
using test::some_labels;
using test::tangent_noise;

const RandomStream kNoise{5, Purpose::training_noise};
// A few dozen rounded float64 operations on numbers of size up to 10.
constexpr double kRounding = 1e-13;
// The same in float32: 2^-24 times numbers up to 10, a handful of operations.
constexpr double kSingleRounding = 5e-6;

torch::Tensor times_for(double t, torch::TensorOptions options) {
  return t * torch::tensor({0.0, 0.2, 0.5, 0.8, 1.0, 1.2}, options);
}

TEST(PathSample, ReferenceNoiseIsTheProjectedStream) {
  const Space space = mixed_space();
  const auto raw = fill_normal(torch::empty({4, 20}, torch::kFloat64), kNoise, 3 * 20);
  const auto u = reference_noise(space, kNoise, 3, 4, torch::kFloat64);
  EXPECT_LT(max_difference(u, project(space, raw)), kRounding);
  EXPECT_GT(max_difference(u, raw), 0.1);
}

TEST(PathSample, NoiseOfAnItemIsTheSameInEveryBatch) {
  const Space space = mixed_space();
  const auto labels = some_labels(space, 10);
  const auto t = torch::full({10}, 0.3, torch::kFloat64);
  const auto path = make_e_geodesic(0.01);
  const auto whole = sample_path(space, *path, labels, t, kNoise, 100, WithVelocity::yes);
  const auto part = sample_path(space, *path, labels.slice(0, 7), t.slice(0, 7), kNoise, 107, WithVelocity::yes);
  EXPECT_TRUE(torch::equal(part.v_t, whole.v_t.slice(0, 7)));
  EXPECT_TRUE(torch::equal(part.velocity, whole.velocity.slice(0, 7)));
  EXPECT_TRUE(torch::equal(reference_noise(space, kNoise, 107, 3, torch::kFloat32),
                           reference_noise(space, kNoise, 100, 10, torch::kFloat32).slice(0, 7)));
}

TEST(PathSample, IsSignalPlusNoise) {
  const Space space = mixed_space();
  const auto labels = some_labels(space, 6);
  const auto u_0 = reference_noise(space, kNoise, 9, 6, torch::kFloat64);
  for (const auto& [path, t] : both_paths()) {
    const auto times = times_for(t, torch::kFloat64);
    const auto sample = sample_path(space, *path, labels, times, kNoise, 9, WithVelocity::yes);
    for (int64_t b = 0; b < 6; ++b) {
      const auto at = path->at(times[b].item<double>());
      const auto u = test::tensor_of(test::corner_by_loops(space, *path, test::labels_of(labels[b])));
      EXPECT_LT(max_difference(sample.v_t[b], at.a * u + at.s * u_0[b]), kRounding);
    }
    EXPECT_TRUE(torch::equal(sample.weight, torch::ones({6}, torch::kFloat64)));
    EXPECT_TRUE(torch::equal(sample.labels, labels));
  }
}

TEST(PathSample, FusedPassEqualsThePlainDefinition) {
  const Space space = mixed_space();
  const auto labels = some_labels(space, 6);
  for (const auto& [path, t] : both_paths()) {
    const auto plain = sample_path(space, *path, labels, times_for(t, torch::kFloat64), kNoise, 9, WithVelocity::no);
    const auto fused = sample_path(space, *path, labels, times_for(t, torch::kFloat32), kNoise, 9, WithVelocity::no);
    EXPECT_EQ(fused.v_t.scalar_type(), torch::kFloat32);
    EXPECT_LT(max_difference(fused.v_t, plain.v_t), kSingleRounding);
    EXPECT_FALSE(fused.velocity.defined());
    const auto with = sample_path(space, *path, labels, times_for(t, torch::kFloat32), kNoise, 9, WithVelocity::yes);
    EXPECT_LT(max_difference(with.v_t, fused.v_t), kSingleRounding);
  }
}

TEST(PathSample, VelocityIsTheTimeDerivative) {
  const Space space = mixed_space();
  const auto labels = some_labels(space, 6);
  constexpr double kStep = 1e-5;
  constexpr double kDifferenceTol = 1e-9;  // rounding 1e-15 / h; v_t is linear in t on both paths
  for (const auto& [path, t] : both_paths()) {
    const auto times = times_for(t, torch::kFloat64) + 0.01;
    const auto at = [&, &p = path](double shift) {
      return sample_path(space, *p, labels, times + shift, kNoise, 9, WithVelocity::yes);
    };
    EXPECT_LT(max_difference(at(0.0).velocity, (at(kStep).v_t - at(-kStep).v_t) / (2 * kStep)), kDifferenceTol);
  }
}

TEST(PathSample, ReferenceDensityIsThatOfIndependentCoordinatesInABasis) {
  const Space space = mixed_space();
  const auto u = tangent_noise(space, 5);
  const auto x = u.mm(test::tangent_frame(space));  // 15 independent standard normals
  const auto at = x.accessor<double, 2>();
  const auto found = reference_log_density(space, u);
  for (int64_t b = 0; b < 5; ++b) {
    double expected = 0.0;
    for (int64_t k = 0; k < 15; ++k)
      expected += std::log(std::exp(-0.5 * at[b][k] * at[b][k]) / std::sqrt(2.0 * std::numbers::pi));
    EXPECT_NEAR(found[b].item<double>(), expected, 10 * kRounding);
  }
}

TEST(PathSample, ConditionalDensityIsAScaledShiftedGaussian) {
  const Space space = test::small_mixed_space();
  const auto labels = some_labels(space, 5);
  const auto v = tangent_noise(space, 5);
  const auto frame = test::tangent_frame(space);
  for (const auto& [path, t] : both_paths()) {
    const auto at = path->at(t);
    const auto u = corners(space, *path, labels, torch::kFloat64);
    const auto found = path_log_density(space, *path, v, u, t);
    for (int64_t b = 0; b < 5; ++b) {
      double expected = 0.0;
      for (const double x : test::values_of((v[b] - at.a * u[b]).matmul(frame)))
        expected += -0.5 * x * x / (at.s * at.s) - 0.5 * std::log(2.0 * std::numbers::pi * at.s * at.s);
      EXPECT_NEAR(found[b].item<double>(), expected, 10 * kRounding);
    }
  }
}

TEST(PathSample, CudaEqualsTheCpu_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const Space space = mixed_space();
  const auto labels = some_labels(space, 6);
  for (const auto& [path, t] : both_paths()) {
    const auto times = times_for(t, torch::kFloat32);
    const auto here = sample_path(space, *path, labels, times, kNoise, 9, WithVelocity::yes);
    const auto there = sample_path(space, *path, labels.cuda(), times.cuda(), kNoise, 9, WithVelocity::yes);
    EXPECT_LT(max_difference(there.v_t.cpu(), here.v_t), kSingleRounding);
    EXPECT_LT(max_difference(there.velocity.cpu(), here.velocity), kSingleRounding);
  }
}

}  // namespace
}  // namespace segre::path_sample_test
