#include "segre/kernels/residual_norm.h"

#include <cmath>

#include "tests/support/exact.h"
#include "tests/support/statistics.h"
#include "tests/support/support.h"
#include "tests/support/threads.h"

namespace segre::kernels::residual_norm_test {
namespace {

using test::exact;
using test::expect_near;
using test::max_difference;
using test::noise;

struct Shape {
  int64_t M, C;
};

// One row, rows around a task of 64; channels below, at and around multiples of a vector of 16.
constexpr Shape kShapes[] = {{1, 7}, {5, 16}, {64, 33}, {65, 130}, {200, 7}};

// Results are compared relative to their largest entry, or to 1 if that is smaller. Float32 rounds by 6e-8: some ten
// roundings in a row, and sums of up to 2048 numbers, whose errors mostly cancel.
constexpr double kSingleTol = 5e-6;
// bfloat16 has 8 bits and rounds by up to 2^-8: the sum, and again the result. A little more for what the sum's
// rounding does to the norm.
constexpr double kHalfTol = 2.25 * 0x1p-8;
// A gate rounds once.
constexpr double kHalfGateTol = 1.25 * 0x1p-8;

constexpr double kShare = 0.25;  // dropped

Dropout dropping(double share, int64_t first_row = 3, torch::Device device = torch::kCPU) {
  return {.share = share,
          .random = RandomStream(5, Purpose::dropout).part(2),
          .first_row = torch::full({1}, first_row, torch::kInt64).to(device)};
}

// The inputs of one case, in float64; `to` converts them to another type or device.
struct Case {
  torch::Tensor x, h, gain, grad_sum, grad_y;

  Case(const Shape& s, bool with_h)
      : x(noise({s.M, s.C}, 1)),
        h(with_h ? noise({s.M, s.C}, 2) : torch::Tensor()),
        gain(1.0 + 0.3 * noise({s.C}, 3)),
        grad_sum(with_h ? noise({s.M, s.C}, 4) : torch::Tensor()),
        grad_y(noise({s.M, s.C}, 5)) {}

  // The rows in `type`, the gain in float32, all on `device`.
  Case to(torch::Device device, torch::ScalarType type) const {
    Case out = *this;
    for (torch::Tensor* tensor : {&out.x, &out.h, &out.grad_sum, &out.grad_y})
      if (tensor->defined()) *tensor = tensor->to(device, type);
    out.gain = gain.to(device, torch::kFloat32);
    return out;
  }
  Case single() const { return to(torch::kCPU, torch::kFloat32); }
};

struct Result {
  torch::Tensor sum, y, dx, dh, dgain;
};

// The twin and its derivative by autograd, in float64 on the CPU.
Result plain(const Case& of, double share) {
  const auto leaf = [](const torch::Tensor& x) { return x.defined() ? exact(x).requires_grad_() : x; };
  const auto x = leaf(of.x), h = leaf(of.h), gain = leaf(of.gain);
  const auto [sum, y] = residual_norm_plain(x, h, gain, dropping(share));
  auto loss = (y * exact(of.grad_y)).sum();
  if (of.grad_sum.defined()) loss = loss + (sum * exact(of.grad_sum)).sum();
  loss.backward();
  return {sum.detach(), y.detach(), x.grad(), h.defined() ? h.grad() : torch::Tensor(), gain.grad()};
}

Result fused(const Case& of, double share) {
  const auto dropout = dropping(share, 3, of.x.device());
  const auto forward = residual_norm(of.x, of.h, of.gain, dropout);
  const auto back = residual_norm_gradients(of.grad_sum, of.grad_y, forward, of.gain, of.h.defined(), dropout);
  return {forward.sum, forward.y, back.x, back.h, back.gain};
}

void expect_agreement(const Result& found, const Result& wanted, double tol) {
  expect_near(found.sum, wanted.sum, tol, "sum");
  expect_near(found.y, wanted.y, tol, "y");
  expect_near(found.dx, wanted.dx, tol, "dx");
  expect_near(found.dh, wanted.dh, tol, "dh");
  expect_near(found.dgain, wanted.dgain, tol, "dgain");
}

// Rows in bfloat16, the gain's gradient in float32.
void expect_half(const Case& half, double share) {
  const Result found = fused(half, share);
  EXPECT_EQ(found.y.scalar_type(), torch::kBFloat16);
  EXPECT_EQ(found.dx.scalar_type(), torch::kBFloat16);
  EXPECT_EQ(found.dgain.scalar_type(), torch::kFloat32);
  expect_agreement(found, plain(half, share), kHalfTol);
}

void expect_same_bits(const Result& one, const Result& two) {
  EXPECT_TRUE(torch::equal(one.sum, two.sum));
  EXPECT_TRUE(torch::equal(one.y, two.y));
  EXPECT_TRUE(torch::equal(one.dx, two.dx));
  EXPECT_TRUE(torch::equal(one.dh, two.dh));
  EXPECT_TRUE(torch::equal(one.dgain, two.dgain));
}

// Without h there is nothing to drop.
template <class Check>
void for_all_cases(const std::vector<Shape>& shapes, Check&& check) {
  for (const Shape& s : shapes)
    for (const bool with_h : {false, true})
      for (const double share : with_h ? std::vector<double>{0.0, kShare} : std::vector<double>{0.0}) {
        SCOPED_TRACE(concat(s.M, " x ", s.C, with_h ? ", h" : "", ", share ", share));
        check(Case(s, with_h), share);
      }
}

std::vector<Shape> cpu_shapes() { return {std::begin(kShapes), std::end(kShapes)}; }

TEST(ResidualNorm, FusedEqualsThePlainTwinBothWays) {
  for_all_cases(cpu_shapes(), [](const Case& of, double share) {
    const Case single = of.single();
    expect_agreement(fused(single, share), plain(single, share), kSingleTol);
  });
}

TEST(ResidualNorm, InBfloat16EqualsThePlainTwinBothWays) {
  for_all_cases(cpu_shapes(),
                [](const Case& of, double share) { expect_half(of.to(torch::kCPU, torch::kBFloat16), share); });
}

TEST(ResidualNorm, RoundsToBfloat16AsLibTorchDoes) {
  const auto x =
      torch::cat({noise({4, 64}, 8, torch::kFloat32), torch::tensor({1.0f, -0.0f, 3e38f, 1e-40f}).expand({4, 4})}, 1);
  const auto half = x.to(torch::kBFloat16);
  const auto sum = residual_norm(half, half, torch::ones({68}), {}).sum;
  EXPECT_TRUE(torch::equal(sum, (half.to(torch::kFloat32) * 2.0).to(torch::kBFloat16)));
  const auto broken = torch::full({1, 16}, std::nan(""), torch::kBFloat16);
  EXPECT_TRUE(residual_norm(broken, broken, torch::ones({16}), {}).sum.isnan().all().item<bool>());
}

TEST(ResidualNorm, PlainTwinIsTheDefinition) {
  const Case of({4, 7}, true);
  const auto dropout = dropping(kShare);
  const auto [sum, y] = residual_norm_plain(of.x, of.h, of.gain, dropout);
  const auto numbers = fill_uniform(torch::empty({4, 7}), dropout.random, 3 * 7);
  constexpr double kRounding = 1e-13;  // a dozen float64 operations on numbers of size 1
  for (int64_t r = 0; r < 4; ++r) {
    double squares = 0.0;
    for (int64_t c = 0; c < 7; ++c) {
      const bool kept = numbers[r][c].item<float>() >= static_cast<float>(kShare);
      const double h = kept ? of.h[r][c].item<double>() / (1.0 - kShare) : 0.0;
      EXPECT_NEAR(sum[r][c].item<double>(), of.x[r][c].item<double>() + h, kRounding);
      squares += std::pow(sum[r][c].item<double>(), 2);
    }
    const double scale = 1.0 / std::sqrt(squares / 7.0 + kNormEpsilon);
    for (int64_t c = 0; c < 7; ++c)
      EXPECT_NEAR(y[r][c].item<double>(), of.gain[c].item<double>() * sum[r][c].item<double>() * scale, kRounding);
  }
}

TEST(ResidualNorm, DropsItsShareAndScalesTheRest) {
  const auto h = torch::ones({1000, 100});
  const auto sum = residual_norm(torch::zeros_like(h), h, torch::ones({100}), dropping(kShare)).sum;
  const auto dropped = sum == 0.0;
  const double spread = std::sqrt(kShare * (1.0 - kShare) / static_cast<double>(h.numel()));
  EXPECT_NEAR(dropped.to(torch::kFloat64).mean().item<double>(), kShare, test::kSigmas * spread);
  const auto kept = sum.masked_select(dropped.logical_not());
  EXPECT_LT(max_difference(kept, torch::full_like(kept, 1.0 / (1.0 - kShare))), 1e-6);  // one float32 rounding or two
}

// An odd number of channels: rows do not begin with a block of random numbers.
TEST(ResidualNorm, WhatIsDroppedIsAFunctionOfTheRowsNumberAlone) {
  const Case of = Case({12, 7}, true).single();
  const auto rows = [&](int64_t from, int64_t to) {
    const auto part = [&](const torch::Tensor& x) { return x.slice(0, from, to).contiguous(); };
    const auto forward = residual_norm(part(of.x), part(of.h), of.gain, dropping(kShare, from));
    const auto back =
        residual_norm_gradients(part(of.grad_sum), part(of.grad_y), forward, of.gain, true, dropping(kShare, from));
    return Result{forward.sum, forward.y, back.x, back.h, back.gain};
  };
  const Result all = rows(0, 12), some = rows(5, 10);
  EXPECT_TRUE(torch::equal(some.sum, all.sum.slice(0, 5, 10)));
  EXPECT_TRUE(torch::equal(some.y, all.y.slice(0, 5, 10)));
  EXPECT_TRUE(torch::equal(some.dx, all.dx.slice(0, 5, 10)));
  EXPECT_TRUE(torch::equal(some.dh, all.dh.slice(0, 5, 10)));
}

TEST(ResidualNorm, SeedsStreamsAndRowsDropDifferently) {
  const auto h = torch::ones({20, 50});
  const auto sum = [&](const Dropout& dropout) {
    return residual_norm(torch::zeros_like(h), h, torch::ones({50}), dropout).sum;
  };
  const auto one = sum(dropping(kShare));
  EXPECT_TRUE(torch::equal(sum(dropping(kShare)), one));
  EXPECT_FALSE(torch::equal(sum(dropping(kShare, 4)), one));
  Dropout other = dropping(kShare);
  other.random = RandomStream(6, Purpose::dropout).part(2);
  EXPECT_FALSE(torch::equal(sum(other), one));
  other.random = RandomStream(5, Purpose::dropout).part(3);
  EXPECT_FALSE(torch::equal(sum(other), one));
}

TEST(ResidualNorm, WithoutHTheSumIsX) {
  const Case of = Case({5, 16}, false).single();
  const auto out = residual_norm(of.x, {}, of.gain, {});
  EXPECT_TRUE(out.sum.is_alias_of(of.x));
  EXPECT_FALSE(residual_norm_gradients({}, of.grad_y, out, of.gain, false, {}).h.defined());
}

TEST(ResidualNorm, ARowOfZerosStaysFinite) {
  const auto x = torch::zeros({2, 16});
  const auto out = residual_norm(x, {}, torch::ones({16}), {});
  EXPECT_EQ(out.y.abs().max().item<double>(), 0.0);
  const auto back = residual_norm_gradients({}, torch::ones_like(x), out, torch::ones({16}), false, {});
  EXPECT_TRUE(back.x.isfinite().all().item<bool>());
}

TEST(ResidualNorm, BitsDoNotDependOnTheNumberOfThreads) {
  const Case of = Case({300, 33}, true).single();
  const auto with = [&](int count) {
    const test::Threads threads(count);
    return fused(of, kShare);
  };
  expect_same_bits(with(1), with(2));
}

TEST(ResidualNorm, RefusesWhatDoesNotFit) {
  const auto x = noise({3, 8}, 1, torch::kFloat32);
  const auto gain = torch::ones({8});
  EXPECT_THROW(residual_norm(x, {}, torch::ones({7}), {}), Error);
  EXPECT_THROW(residual_norm(x, noise({3, 7}, 1, torch::kFloat32), gain, {}), Error);
  EXPECT_THROW(residual_norm(x, x.to(torch::kFloat64), gain, {}), Error);
  EXPECT_THROW(residual_norm(x, {}, gain.to(torch::kFloat64), {}), Error);
  EXPECT_THROW(residual_norm(x.t(), {}, torch::ones({3}), {}), Error);
  EXPECT_THROW(residual_norm(x.to(torch::kFloat64), {}, gain, {}), Error);
  EXPECT_FALSE(rows_serve(x.to(torch::kFloat64)));
  EXPECT_FALSE(rows_serve(x[0]));
  EXPECT_FALSE(rows_serve(torch::empty({0, 8})));
}

// Values and gradients of a gate for u [M, 2 F]; the twin by autograd in float64.
void expect_gate(const torch::Tensor& u, double tol) {
  const auto grad = noise({u.size(0), u.size(1) / 2}, 7).to(u.options());
  const auto leaf = exact(u).requires_grad_();
  const auto wanted = gated_plain(leaf);
  wanted.backward(exact(grad));
  expect_near(gated(u), wanted.detach(), tol, "gate");
  expect_near(gated_gradient(grad, u), leaf.grad(), tol, "gradient");
}

TEST(Gate, FusedEqualsThePlainTwinBothWays) {
  for (const int64_t M : {1, 65})
    for (const int64_t F : {1, 7, 16, 33}) {
      SCOPED_TRACE(concat(M, " x 2 x ", F));
      const auto u = 2.0 * noise({M, 2 * F}, 6, torch::kFloat32);
      expect_gate(u, kSingleTol);
      expect_gate(u.to(torch::kBFloat16), kHalfGateTol);
    }
}

TEST(Gate, PlainTwinIsTheDefinition) {
  const auto u = noise({3, 10}, 6);
  const auto a = u.narrow(1, 0, 5), b = u.narrow(1, 5, 5);
  EXPECT_LT(max_difference(gated_plain(u), a / (1.0 + (-a).exp()) * b), 1e-14);  // four roundings of float64
}

TEST(Gate, LargeArgumentsStayFinite) {
  const auto u = torch::tensor({{-1000.0f, -100.0f, 100.0f, 1000.0f, 1.0f, 1.0f, 1.0f, 1.0f}});
  EXPECT_LT(max_difference(gated(u), torch::tensor({{0.0f, 0.0f, 100.0f, 1000.0f}})), 1e-30);  // exp(-100) = 4e-44
  EXPECT_TRUE(gated_gradient(torch::ones({1, 4}), u).isfinite().all().item<bool>());
}

// Every shape of the kernels, full and not.
std::vector<Shape> cuda_shapes() {
  std::vector<Shape> out;
  for (const int64_t C : {40, 128, 256, 384, 400, 704, 1024, 2048})
    for (const int64_t M : {1, 9, 700}) out.push_back({M, C});
  out.push_back({6000, 128});  // more rows than warps
  return out;
}

TEST(ResidualNorm, CudaEqualsThePlainTwinBothWays_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  for_all_cases(cuda_shapes(), [](const Case& of, double share) {
    const Case single = of.to(torch::kCUDA, torch::kFloat32);
    ASSERT_TRUE(rows_serve(single.x));
    expect_agreement(fused(single, share), plain(single, share), kSingleTol);
  });
}

TEST(ResidualNorm, CudaInBfloat16EqualsThePlainTwinBothWays_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  for_all_cases(cuda_shapes(), [](const Case& of, double share) {
    const Case half = of.to(torch::kCUDA, torch::kBFloat16);
    ASSERT_TRUE(rows_serve(half.x));
    expect_half(half, share);
  });
}

TEST(ResidualNorm, CudaDropsWhatTheCpuDrops_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const auto h = torch::ones({50, 384});
  const auto sum = [&](torch::Device device) {
    const auto there = h.to(device);
    return residual_norm(torch::zeros_like(there), there, torch::ones({384}, device), dropping(kShare, 3, device)).sum;
  };
  EXPECT_TRUE(torch::equal(sum(torch::kCUDA).cpu() == 0.0, sum(torch::kCPU) == 0.0));
}

TEST(ResidualNorm, CudaGivesTheSameBitsEveryTime_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const Case half = Case({6000, 128}, true).to(torch::kCUDA, torch::kBFloat16);
  expect_same_bits(fused(half, kShare), fused(half, kShare));
}

TEST(Gate, CudaEqualsThePlainTwinBothWays_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  for (const int64_t M : {1, 700})
    for (const int64_t F : {40, 128, 1024}) {
      SCOPED_TRACE(concat(M, " x 2 x ", F));
      const auto u = 2.0 * noise({M, 2 * F}, 6).cuda();
      expect_gate(u.to(torch::kFloat32), kSingleTol);
      expect_gate(u.to(torch::kBFloat16), kHalfGateTol);
    }
}

}  // namespace
}  // namespace segre::kernels::residual_norm_test
