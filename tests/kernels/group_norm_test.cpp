#include "segre/kernels/group_norm.h"

#include <cmath>

#include "segre/kernels/group_norm_parts.h"
#include "tests/support/support.h"
#include "tests/support/threads.h"

namespace segre::kernels::group_norm_test {
namespace {

using test::max_difference;
using test::noise;

struct Shape {
  int64_t N, P, C, groups;
};

// One pixel, odd numbers of pixels, chunks of 64 pixels and a remainder; 1, 2, 3, 4 ... channels per group.
constexpr Shape kShapes[] = {{1, 1, 4, 2},    {3, 1, 32, 32},   {3, 1, 64, 32},  {3, 7, 32, 32},
                             {2, 65, 96, 32}, {2, 130, 64, 32}, {1, 7, 128, 32}, {2, 50, 192, 32},
                             {2, 9, 256, 32}, {3, 7, 36, 4},    {130, 5, 32, 8}};

// The inputs of one case, in float64; `to` converts them to another type or device.
struct Case {
  torch::Tensor x, gamma, beta, shift, dy;

  Case(const Shape& s, bool with_shift)
      : x(noise({s.N, s.P, s.C}, 1) + 0.5 * noise({s.N, 1, s.C}, 2)),
        gamma(1.0 + 0.3 * noise({s.C}, 3)),
        beta(0.5 * noise({s.C}, 4)),
        shift(with_shift ? noise({s.N, s.C}, 5) : torch::Tensor()),
        dy(noise({s.N, s.P, s.C}, 6)) {}

  // x and dy in `type`, parameters in float32, all on `device`.
  Case to(torch::Device device, torch::ScalarType type) const {
    Case out = *this;
    for (torch::Tensor* tensor : {&out.x, &out.dy}) *tensor = tensor->to(device, type).contiguous();
    for (torch::Tensor* tensor : {&out.gamma, &out.beta, &out.shift})
      if (tensor->defined()) *tensor = tensor->to(device, torch::kFloat32);
    return out;
  }
  Case on_cpu() const { return to(torch::kCPU, torch::kFloat32); }
};

struct Result {
  torch::Tensor y, dx, dgamma, dbeta, dshift;
};

// The twin and its derivative by autograd, in float64.
Result plain(const Case& of, const Shape& s, bool silu) {
  const auto leaf = [](const torch::Tensor& x) {
    return x.defined() ? x.detach().to(torch::kCPU, torch::kFloat64).clone().requires_grad_() : x;
  };
  const auto x = leaf(of.x), gamma = leaf(of.gamma), beta = leaf(of.beta), shift = leaf(of.shift);
  const auto y = group_norm_plain(x, gamma, beta, shift, s.groups, silu);
  y.backward(of.dy.to(torch::kCPU, torch::kFloat64));
  return {y.detach(), x.grad(), gamma.grad(), beta.grad(), shift.defined() ? shift.grad() : torch::Tensor()};
}

Result fused(const Case& of, const Shape& s, bool silu) {
  const auto forward = group_norm_forward(of.x, of.gamma, of.beta, of.shift, s.groups, silu);
  const auto back = group_norm_backward(of.dy, of.x, of.gamma, of.beta, of.shift, forward.mean, forward.rstd, silu);
  return {forward.y, back.dx, back.dgamma, back.dbeta, back.dshift};
}

void expect_near(const torch::Tensor& found, const torch::Tensor& exact, double tol, const char* what) {
  ASSERT_EQ(found.defined(), exact.defined()) << what;
  if (!found.defined()) return;
  ASSERT_EQ(found.sizes(), exact.sizes()) << what;
  const double scale = std::max(1.0, exact.abs().max().item<double>());
  EXPECT_LT(max_difference(found.to(torch::kCPU, torch::kFloat64), exact), tol * scale) << what;
}

// Tolerances are relative to each result's largest entry, or to 1 if that is smaller. The variance of one pixel may
// vanish, and 1/sd = 316 magnifies float32 rounding; dshift is the small difference of sums over P pixels.
void expect_agreement(const Result& found, const Result& exact, const Shape& s, double rounding) {
  const double tol = s.P == 1 ? std::max(rounding, 1e-3) : rounding;
  expect_near(found.y, exact.y, tol, "y");
  expect_near(found.dx, exact.dx, tol, "dx");
  expect_near(found.dgamma, exact.dgamma, tol, "dgamma");
  expect_near(found.dbeta, exact.dbeta, tol, "dbeta");
  expect_near(found.dshift, exact.dshift, tol * std::sqrt(static_cast<double>(s.P)), "dshift");
}

template <class Check>
void for_all_cases(const std::vector<Shape>& shapes, Check&& check) {
  for (const Shape& s : shapes)
    for (const bool with_shift : {false, true})
      for (const bool silu : {false, true}) {
        SCOPED_TRACE(concat("N ", s.N, " P ", s.P, " C ", s.C, " groups ", s.groups, with_shift ? " shift" : "",
                            silu ? " silu" : ""));
        check(s, Case(s, with_shift), silu);
      }
}

// Float32 numbers of size 1 to 5 and 1/sd up to a few, against float64.
constexpr double kSingleTol = 1e-5;

TEST(GroupNorm, FusedEqualsThePlainTwinBothWays) {
  for_all_cases({std::begin(kShapes), std::end(kShapes)}, [](const Shape& s, const Case& exact, bool silu) {
    const Case single = exact.on_cpu();
    expect_agreement(fused(single, s, silu), plain(single, s, silu), s, kSingleTol);
  });
}

TEST(GroupNorm, PlainTwinIsTheDefinition) {
  const Shape s{2, 5, 6, 2};
  const Case of(s, true);
  const auto y = group_norm_plain(of.x, of.gamma, of.beta, of.shift, s.groups, true);
  for (int64_t n = 0; n < s.N; ++n)
    for (int64_t g = 0; g < s.groups; ++g) {
      const auto u = (of.x[n] + of.shift[n]).narrow(1, 3 * g, 3);
      const double mean = u.mean().item<double>();
      const double variance = (u - mean).square().mean().item<double>();
      const auto z =
          (u - mean) / std::sqrt(variance + kGroupNormEps) * of.gamma.narrow(0, 3 * g, 3) + of.beta.narrow(0, 3 * g, 3);
      EXPECT_LT(max_difference(y[n].narrow(1, 3 * g, 3), z / (1.0 + (-z).exp())), 1e-13);
    }
}

TEST(GroupNorm, GradientsEqualFiniteDifferences) {
  const Shape s{2, 3, 4, 2};
  constexpr double kStep = 1e-5;
  constexpr double kTol = 1e-4;  // of float32 gradients; differences of float64 values are good to 1e-9
  const Case single = Case(s, true).on_cpu();
  const Result found = fused(single, s, true);
  const auto loss = [&](const Case& at) {
    return (group_norm_plain(at.x, at.gamma, at.beta, at.shift, s.groups, true) * at.dy).sum().item<double>();
  };
  Case exact = single;
  for (torch::Tensor* tensor : {&exact.x, &exact.gamma, &exact.beta, &exact.shift, &exact.dy})
    *tensor = tensor->to(torch::kFloat64);
  const auto check = [&](torch::Tensor& input, const torch::Tensor& gradient) {
    auto flat = input.view({-1});
    for (int64_t k = 0; k < flat.numel(); ++k) {
      const double at = flat[k].item<double>();
      flat[k] = at + kStep;
      const double above = loss(exact);
      flat[k] = at - kStep;
      const double below = loss(exact);
      flat[k] = at;
      EXPECT_NEAR(gradient.reshape({-1})[k].item<double>(), (above - below) / (2.0 * kStep), kTol) << k;
    }
  };
  check(exact.x, found.dx);
  check(exact.gamma, found.dgamma);
  check(exact.beta, found.dbeta);
  check(exact.shift, found.dshift);
}

TEST(GroupNorm, StatisticsAreThoseOfXAndShift) {
  const Shape s{2, 70, 64, 32};
  const Case single = Case(s, true).on_cpu();
  const auto out = group_norm_forward(single.x, single.gamma, single.beta, single.shift, s.groups, false);
  const auto u = (single.x.to(torch::kFloat64) + single.shift.to(torch::kFloat64).unsqueeze(1)).view({2, 70, 32, 2});
  expect_near(out.mean, u.mean({1, 3}), 1e-6, "mean");  // one rounding to float32
  const auto variance = u.var({1, 3}, /*unbiased=*/false);
  expect_near(out.rstd, (variance + kGroupNormEps).rsqrt(), 1e-6, "rstd");
}

TEST(GroupNorm, ConstantsBecomeBeta) {
  const auto x = torch::full({2, 100, 64}, 1234.5f);
  const auto beta = noise({64}, 1, torch::kFloat32);
  const auto out = group_norm_forward(x, torch::ones({64}), beta, {}, 32, false);
  EXPECT_TRUE(torch::equal(out.y, beta.expand_as(x)));
  EXPECT_TRUE(torch::equal(out.mean, torch::full({2, 32}, 1234.5f)));
  EXPECT_LT(max_difference(out.rstd, torch::full({2, 32}, 1.0 / std::sqrt(kGroupNormEps))), 1e-3);
}

TEST(GroupNorm, SmallVarianceFarFromZeroKeepsItsDigits) {
  // Mean 1000, standard deviation 1/4, in multiples of 2^-12: exact in float32, hopeless for E[x^2] - E[x]^2.
  const auto x = (1000.0 + (noise({2, 300, 64}, 7) * 1024.0).round() / 4096.0).to(torch::kFloat32);
  const auto gamma = torch::ones({64}), beta = torch::zeros({64});
  const auto out = group_norm_forward(x, gamma, beta, {}, 32, false);
  const auto u = x.to(torch::kFloat64).view({2, 300, 32, 2});
  const auto rstd = (u.var({1, 3}, /*unbiased=*/false) + kGroupNormEps).rsqrt();
  expect_near(out.rstd, rstd, 1e-6, "rstd");
  // The saved mean is a float32: half a unit of its last place, 3e-5, over the standard deviation.
  const auto exact = group_norm_plain(x.to(torch::kFloat64), gamma, beta, {}, 32, false);
  EXPECT_LT(max_difference(out.y, exact), 2e-4);
}

TEST(GroupNorm, LargeArgumentsOfSiluStayFinite) {
  const auto x = torch::tensor({{{-1.0f}, {1.0f}}});
  for (const float gamma : {10.0f, 90.0f, 1000.0f, 1e30f}) {
    const auto weight = torch::full({1}, gamma);
    const auto zero = torch::zeros({1});
    const auto out = group_norm_forward(x, weight, zero, {}, 1, true, 0.0);
    const double large = gamma / (1.0 + std::exp(-static_cast<double>(gamma)));
    EXPECT_NEAR(out.y[0][0].item<double>(), large - gamma, 1e-7 + 1e-6 * gamma * std::exp(-static_cast<double>(gamma)));
    EXPECT_FLOAT_EQ(out.y[0][1].item<float>(), static_cast<float>(large));
    const auto back = group_norm_backward(torch::ones_like(x), x, weight, zero, {}, out.mean, out.rstd, true);
    EXPECT_TRUE(back.dx.isfinite().all().item<bool>()) << gamma;
  }
}

TEST(GroupNorm, NanIsNotHidden) {
  auto x = noise({1, 9, 8}, 1, torch::kFloat32);
  x[0][3][5] = std::nanf("");
  const auto y = group_norm_forward(x, torch::ones({8}), torch::zeros({8}), {}, 2, true).y;
  EXPECT_TRUE(y.narrow(2, 4, 4).isnan().all().item<bool>());
  EXPECT_FALSE(y.narrow(2, 0, 4).isnan().any().item<bool>());
}

TEST(GroupNorm, BitsDoNotDependOnTheNumberOfThreads) {
  const Shape s{5, 100, 64, 32};
  const Case single = Case(s, true).on_cpu();
  const auto with = [&](int count) {
    const test::Threads threads(count);
    return fused(single, s, true);
  };
  const Result one = with(1), two = with(2);
  EXPECT_TRUE(torch::equal(one.y, two.y));
  EXPECT_TRUE(torch::equal(one.dx, two.dx));
  EXPECT_TRUE(torch::equal(one.dgamma, two.dgamma));
  EXPECT_TRUE(torch::equal(one.dshift, two.dshift));
}

TEST(GroupNorm, RefusesWhatDoesNotFit) {
  const auto x = noise({2, 3, 8}, 1, torch::kFloat32);
  const auto weight = torch::ones({8});
  EXPECT_THROW(group_norm_forward(x, weight, weight, {}, 3, true), Error);
  EXPECT_THROW(group_norm_forward(x, torch::ones({7}), weight, {}, 2, true), Error);
  EXPECT_THROW(group_norm_forward(x, weight.to(torch::kFloat64), weight, {}, 2, true), Error);
  EXPECT_THROW(group_norm_forward(x, weight, weight, torch::ones({8}), 2, true), Error);
  EXPECT_THROW(group_norm_forward(x.transpose(1, 2), weight, weight, {}, 1, true), Error);
  EXPECT_FALSE(group_norm_serves(x.to(torch::kFloat64)));
  EXPECT_FALSE(group_norm_serves(x[0]));
}

TEST(GroupNorm, PlanCoversEveryPixelWithFewSlabs) {
  for (const int64_t N : {1, 3, 16, 95, 96, 130, 512})
    for (const int64_t P : {1, 7, 64, 1000, 32'768})
      for (const int64_t C : {32, 64, 96, 1024}) {
        const auto plan = detail::group_norm_plan({N, P, C, 32, true}, 2);
        EXPECT_GE(plan.span * plan.slabs, P);
        EXPECT_LT(plan.span * (plan.slabs - 1), P);
        EXPECT_LE(plan.slabs, 64);
        EXPECT_TRUE(!plan.whole || plan.slabs == 1);
      }
  EXPECT_TRUE(detail::group_norm_plan({128, 1024, 32, 32, true}, 2).whole);
  EXPECT_FALSE(detail::group_norm_plan({16, 1024, 32, 32, true}, 2).whole);
  EXPECT_GE(detail::group_norm_plan({16, 32'768, 64, 32, true}, 2).slabs * 16, 4 * 132);
}

// Both variants of the kernels (N = 130 takes whole items), full and scalar width (C = 36), all slabs full or not.
std::vector<Shape> cuda_shapes() {
  std::vector<Shape> out{{3, 7, 36, 4}, {130, 7, 36, 4}, {2, 4099, 64, 32}, {1, 5, 512, 32}, {97, 3, 1024, 32}};
  for (const int64_t N : {1, 3, 130})
    for (const int64_t P : {1, 7, 300})
      for (const int64_t C : {32, 64, 96, 128, 192, 256})
        if (N * P * C <= 130 * 300 * 96) out.push_back({N, P, C, 32});
  return out;
}

TEST(GroupNorm, CudaEqualsThePlainTwinBothWays_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  for_all_cases(cuda_shapes(), [](const Shape& s, const Case& exact, bool silu) {
    const Case single = exact.to(torch::kCUDA, torch::kFloat32);
    ASSERT_TRUE(group_norm_serves(single.x));
    expect_agreement(fused(single, s, silu), plain(single, s, silu), s, kSingleTol);
  });
}

TEST(GroupNorm, CudaInBfloat16EqualsThePlainTwinBothWays_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  for_all_cases(cuda_shapes(), [](const Shape& s, const Case& exact, bool silu) {
    const Case half = exact.to(torch::kCUDA, torch::kBFloat16);
    ASSERT_TRUE(group_norm_serves(half.x));
    const Result found = fused(half, s, silu);
    EXPECT_EQ(found.y.scalar_type(), torch::kBFloat16);
    EXPECT_EQ(found.dx.scalar_type(), torch::kBFloat16);
    expect_agreement(found, plain(half, s, silu), s, 1e-2);  // results have 8 bits: half a unit of the last is 2e-3
  });
}

TEST(GroupNorm, CudaSumsAreTheSameBitsEveryTime_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  for (const Shape& s : {Shape{3, 5000, 64, 32}, Shape{130, 64, 64, 32}}) {
    const Case half = Case(s, true).to(torch::kCUDA, torch::kBFloat16);
    const Result one = fused(half, s, true), two = fused(half, s, true);
    EXPECT_TRUE(torch::equal(one.y, two.y));
    EXPECT_TRUE(torch::equal(one.dx, two.dx));
    EXPECT_TRUE(torch::equal(one.dgamma, two.dgamma));
    EXPECT_TRUE(torch::equal(one.dbeta, two.dbeta));
    EXPECT_TRUE(torch::equal(one.dshift, two.dshift));
  }
}

TEST(GroupNorm, CudaKeepsTheDigitsOfASmallVariance_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  for (const int64_t N : {2, 130}) {
    // As on the CPU; the first pixel is far off, as corners of images are.
    auto x = (1000.0 + (noise({N, 300, 64}, 7) * 1024.0).round() / 4096.0).to(torch::kFloat32);
    x.select(1, 0) += 4.0f;
    const auto weight = torch::ones({64}, torch::kCUDA);
    const auto out = group_norm_forward(x.to(torch::kCUDA), weight, weight, {}, 32, false);
    const auto u = x.to(torch::kFloat64).view({N, 300, 32, 2});
    expect_near(out.mean, u.mean({1, 3}), 1e-6, "mean");
    expect_near(out.rstd, (u.var({1, 3}, /*unbiased=*/false) + kGroupNormEps).rsqrt(), 2e-5, "rstd");
    const auto constant =
        group_norm_forward(torch::full({N, 50, 64}, 1234.5f, torch::kCUDA), weight, weight, {}, 32, false);
    EXPECT_TRUE(torch::equal(constant.y, torch::ones_like(constant.y)));
  }
}

}  // namespace
}  // namespace segre::kernels::group_norm_test

namespace segre::group_norm_test {
namespace {

using test::max_difference;
using test::noise;

constexpr int64_t kGroups = 4;

struct Inputs {
  torch::Tensor x, gamma, beta, shift;

  Inputs(torch::ScalarType type, bool with_shift)
      : x(leaf({2, 5, 12}, 1, type)),
        gamma(leaf({12}, 2, type)),
        beta(leaf({12}, 3, type)),
        shift(with_shift ? leaf({2, 12}, 4, type) : torch::Tensor()) {}

  static torch::Tensor leaf(at::IntArrayRef shape, uint64_t seed, torch::ScalarType type) {
    return noise(shape, seed).to(type).requires_grad_();
  }
  // A loss that weighs every entry differently; gradients land in the leaves.
  double loss(NormActivation activation) const {
    const auto y = group_norm(x, gamma, beta, shift, kGroups, activation);
    const auto out = (y * noise({2, 5, 12}, 5).to(y.scalar_type())).sum();
    out.backward();
    return out.item<double>();
  }
};

TEST(GroupNormLayer, FusedGradientsEqualThoseOfPlainLibTorch) {
  constexpr double kTol = 2e-5;  // float32 against float64, gradients of size 5
  for (const bool with_shift : {false, true})
    for (const auto activation : {NormActivation::none, NormActivation::silu}) {
      const Inputs single(torch::kFloat32, with_shift), exact(torch::kFloat64, with_shift);
      EXPECT_NEAR(single.loss(activation), exact.loss(activation), kTol);
      EXPECT_LT(max_difference(single.x.grad(), exact.x.grad()), kTol);
      EXPECT_LT(max_difference(single.gamma.grad(), exact.gamma.grad()), kTol);
      EXPECT_LT(max_difference(single.beta.grad(), exact.beta.grad()), kTol);
      if (!with_shift) continue;
      EXPECT_LT(max_difference(single.shift.grad(), exact.shift.grad()), kTol);
    }
}

TEST(GroupNormLayer, ImagesStoredChannelsLastNeedNoCopy) {
  const auto image = noise({2, 12, 3, 4}, 1, torch::kFloat32).contiguous(at::MemoryFormat::ChannelsLast);
  const auto x = image.permute({0, 2, 3, 1}).view({2, 12, 12});
  ASSERT_EQ(x.data_ptr(), image.data_ptr());
  const auto y = group_norm(x, torch::ones({12}), torch::zeros({12}), {}, kGroups, NormActivation::none);
  const auto expected = torch::group_norm(image, kGroups);
  EXPECT_LT(max_difference(y.view({2, 3, 4, 12}).permute({0, 3, 1, 2}), expected), 1e-5);  // float32 of size 1
}

TEST(GroupNormLayer, OtherTypesKeepTheirType) {
  const auto x = noise({2, 5, 12}, 1);
  const auto gamma = torch::ones({12}), beta = torch::zeros({12});
  for (const auto type : {torch::kFloat64, torch::kBFloat16})
    EXPECT_EQ(group_norm(x.to(type), gamma, beta, {}, kGroups, NormActivation::silu).scalar_type(), type);
}

TEST(GroupNormLayer, TransposedInputsAreTaken) {
  const auto x = noise({2, 12, 5}, 1, torch::kFloat32);
  const auto gamma = torch::ones({12}), beta = torch::zeros({12});
  const auto found = group_norm(x.transpose(1, 2), gamma, beta, {}, kGroups, NormActivation::silu);
  const auto expected = group_norm(x.transpose(1, 2).contiguous(), gamma, beta, {}, kGroups, NormActivation::silu);
  EXPECT_TRUE(torch::equal(found, expected));
}

TEST(GroupNormLayer, CudaAgreesWithTheCpu_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const auto run = [](torch::Device device) {
    const auto x = noise({3, 20, 64}, 1, torch::kFloat32).to(device).requires_grad_();
    const auto gamma = (1.0 + 0.1 * noise({64}, 2, torch::kFloat32)).to(device).requires_grad_();
    const auto shift = noise({3, 64}, 3, torch::kFloat32).to(device).requires_grad_();
    const auto y = group_norm(x, gamma, torch::zeros({64}, device), shift, 32, NormActivation::silu);
    y.square().sum().backward();
    return std::vector{y.detach().cpu(), x.grad().cpu(), gamma.grad().cpu(), shift.grad().cpu()};
  };
  const auto here = run(torch::kCPU), there = run(torch::kCUDA);
  for (size_t k = 0; k < here.size(); ++k)
    EXPECT_LT(max_difference(here[k], there[k]), 1e-5 * here[k].abs().max().item<double>()) << k;
}

}  // namespace
}  // namespace segre::group_norm_test
