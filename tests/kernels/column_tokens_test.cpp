#include "segre/kernels/column_tokens.h"

#include <cmath>

#include "tests/support/exact.h"
#include "tests/support/support.h"

namespace segre::kernels::column_tokens_test {
namespace {

using test::exact;
using test::expect_near;
using test::noise;

// Results are compared relative to their largest entry, or to 1 if that is smaller. Float32 rounds by 6e-8: sums of up
// to 300 items or 2048 channels, whose errors mostly cancel.
constexpr double kSingleTol = 5e-6;
// Everything is summed in float32 and rounded to bfloat16 once, by at most 2^-8 of the number; a little more for sums
// next to the middle of two bfloat16 numbers.
constexpr double kHalfTol = 1.01 * 0x1p-8;

struct Shape {
  std::vector<int64_t> labels;  // of each column
  int64_t B, d;
};

// Uniform columns: fewer and more rows than a block's 2, 4, 6 or 8, the most labels, one label; mixed ones. Items below
// and above what a thread (4) and a block (64) take at a time; channels below, at and above a slice of 128 or 64, and
// two packs for each lane but a few.
std::vector<Shape> shapes() {
  const auto columns = [](size_t n, int64_t c) { return std::vector<int64_t>(n, c); };
  const std::vector<int64_t> mixed{2, 1, 5, 32, 3, 2, 7, 9, 4};
  return {{columns(256, 2), 64, 384}, {columns(3, 2), 1, 8},      {columns(9, 1), 65, 136}, {columns(17, 3), 300, 64},
          {columns(5, 32), 67, 200},  {columns(40, 2), 130, 520}, {mixed, 64, 384},         {mixed, 5, 40},
          {mixed, 70, 2048}};
}

ColumnAxis axis_of(const Shape& s, torch::Device device) {
  ColumnAxis axis{.n_columns = static_cast<int64_t>(s.labels.size())};
  std::vector<int64_t> starts;
  for (const int64_t c : s.labels) {
    starts.push_back(axis.n_coordinates);
    axis.n_coordinates += c;
    axis.max_labels = std::max(axis.max_labels, c);
  }
  if (axis.n_coordinates != axis.n_columns * axis.max_labels)
    axis.starts = torch::tensor(starts, torch::kInt64).to(device);
  return axis;
}

// [S] the column of each coordinate.
torch::Tensor columns_of(const Shape& s) {
  const auto n = static_cast<int64_t>(s.labels.size());
  return torch::arange(n, torch::kInt64).repeat_interleave(torch::tensor(s.labels, torch::kInt64));
}

torch::Tensor leaf(const torch::Tensor& x) { return x.defined() ? exact(x).requires_grad_() : x; }

torch::Tensor grad_of(const torch::Tensor& x) { return x.defined() ? x.grad() : x; }

// The inputs of one case on CUDA, what is seen in float32 and the rest in `type`.
struct Case {
  ColumnAxis axis;
  torch::Tensor of_column;  // [S] on the CPU
  ColumnsSeen seen;
  ColumnWeights weights;
  torch::Tensor tokens;       // [B, n, d], a gradient or the input of the logits
  torch::Tensor bias;         // [S]
  torch::Tensor grad_logits;  // [B, S]

  Case(const Shape& s, torch::ScalarType type, bool alone = false)
      : axis(axis_of(s, torch::kCUDA)), of_column(columns_of(s)) {
    const int64_t n = axis.n_columns, S = axis.n_coordinates;
    const auto single = [](const torch::Tensor& x) { return x.to(torch::kCUDA, torch::kFloat32); };
    const auto short_noise = [&](at::IntArrayRef shape, uint64_t seed) { return noise(shape, seed).cuda().to(type); };
    seen.point = single(noise({s.B, S}, 1).sigmoid());
    weights.labels = short_noise({S, s.d}, 4);
    if (!alone) {
      seen.evidence = single(noise({s.B, S}, 2));
      seen.strength = single(noise({s.B, n}, 3).square());
      weights.evidence = short_noise({S, s.d}, 5);
      weights.strength = short_noise({1, s.d}, 6);
      weights.position = short_noise({n, s.d}, 7);
    }
    tokens = short_noise({s.B, n, s.d}, 8);
    bias = single(noise({S}, 9));
    grad_logits = single(noise({s.B, S}, 10));
  }
};

// sum_j x_ij E_ij for all columns: [B, S] and [S, d] -> [B, n, d].
torch::Tensor of_labels(const Case& of, const torch::Tensor& x, const torch::Tensor& E) {
  return torch::zeros({x.size(0), of.axis.n_columns, E.size(1)}, x.options())
      .index_add(1, of.of_column, x.unsqueeze(2) * E);
}

void expect_weights(const ColumnWeights& found, const ColumnWeights& wanted, double tol) {
  expect_near(found.labels, wanted.labels, tol, "labels");
  expect_near(found.evidence, wanted.evidence, tol, "evidence");
  expect_near(found.strength, wanted.strength, tol, "strength");
  expect_near(found.position, wanted.position, tol, "position");
}

// Tokens and the gradients of all weights against the definition and its derivative by autograd, in float64.
void expect_tokens(const Case& of, double tol) {
  const ColumnWeights w{leaf(of.weights.labels), leaf(of.weights.evidence), leaf(of.weights.strength),
                        leaf(of.weights.position)};
  auto wanted = of_labels(of, exact(of.seen.point), w.labels);
  if (of.seen.evidence.defined()) wanted = wanted + of_labels(of, exact(of.seen.evidence), w.evidence);
  if (of.seen.strength.defined())
    wanted = wanted + exact(of.seen.strength).log1p().unsqueeze(2) * w.strength + w.position;
  wanted.backward(exact(of.tokens));
  const auto found = column_tokens(of.axis, of.seen, of.weights);
  EXPECT_EQ(found.scalar_type(), of.tokens.scalar_type());
  expect_near(found, wanted.detach(), tol, "tokens");
  const auto gradients = column_tokens_gradients(of.axis, of.seen, of.tokens);
  EXPECT_EQ(gradients.labels.scalar_type(), of.tokens.scalar_type());
  expect_weights(gradients, {grad_of(w.labels), grad_of(w.evidence), grad_of(w.strength), grad_of(w.position)}, tol);
}

// The same for logits, which are float32 whatever the weights are, as is the bias.
void expect_logits(const Case& of, double tol) {
  const auto y = leaf(of.tokens), E = leaf(of.weights.labels), bias = leaf(of.bias);
  const auto wanted = (y.index_select(1, of.of_column) * E).sum(2) + bias;
  wanted.backward(exact(of.grad_logits));
  const auto found = column_logits(of.axis, of.tokens, of.weights.labels, of.bias);
  EXPECT_EQ(found.scalar_type(), torch::kFloat32);
  expect_near(found, wanted.detach(), kSingleTol, "logits");
  const auto gradients = column_logits_gradients(of.axis, of.grad_logits, of.tokens, of.weights.labels);
  EXPECT_EQ(gradients.y.scalar_type(), of.tokens.scalar_type());
  EXPECT_EQ(gradients.labels.scalar_type(), of.tokens.scalar_type());
  expect_near(gradients.y, y.grad(), tol, "y");
  expect_near(gradients.labels, E.grad(), tol, "labels");
  expect_near(gradients.bias, bias.grad(), kSingleTol, "bias");
}

template <class Check>
void for_all_cases(Check&& check) {
  for (const Shape& s : shapes())
    for (const auto type : {torch::kFloat32, torch::kBFloat16}) {
      SCOPED_TRACE(concat(s.B, " x ", s.labels.size(), " x ", s.d, " from ", s.labels[0], " labels on, ",
                          type == torch::kFloat32 ? "float32" : "bfloat16"));
      check(s, type, type == torch::kFloat32 ? kSingleTol : kHalfTol);
    }
}

TEST(ColumnTokens, OtherDevicesAreNotServed) {
  const ColumnAxis axis{.n_columns = 3, .n_coordinates = 6, .max_labels = 2};
  EXPECT_FALSE(columns_serve(axis, torch::zeros({6, 8})));
  EXPECT_THROW(column_tokens(axis, {.point = torch::zeros({1, 6})}, {.labels = torch::zeros({6, 8})}), Error);
}

TEST(ColumnTokens, EqualTheDefinitionBothWays_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  for_all_cases([](const Shape& s, torch::ScalarType type, double tol) { expect_tokens(Case(s, type), tol); });
}

TEST(ColumnTokens, EqualTheDefinitionWithoutEvidenceAndStrength_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  for_all_cases([](const Shape& s, torch::ScalarType type, double tol) { expect_tokens(Case(s, type, true), tol); });
}

TEST(ColumnLogits, EqualTheDefinitionBothWays_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  for_all_cases([](const Shape& s, torch::ScalarType type, double tol) { expect_logits(Case(s, type), tol); });
}

TEST(ColumnTokens, AnItemsTokenDoesNotDependOnTheBatch_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const Case of({{2, 5, 3}, 7, 40}, torch::kFloat32);
  const auto part = [](const torch::Tensor& x) { return x.slice(0, 5, 7).contiguous(); };
  const ColumnsSeen seen{part(of.seen.point), part(of.seen.evidence), part(of.seen.strength)};
  EXPECT_TRUE(
      torch::equal(column_tokens(of.axis, seen, of.weights), part(column_tokens(of.axis, of.seen, of.weights))));
  EXPECT_TRUE(torch::equal(column_logits(of.axis, part(of.tokens), of.weights.labels, of.bias),
                           part(column_logits(of.axis, of.tokens, of.weights.labels, of.bias))));
}

TEST(ColumnTokens, GradientsHaveTheSameBitsEveryTime_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const Case of({std::vector<int64_t>(256, 2), 300, 384}, torch::kBFloat16);
  const auto one = column_tokens_gradients(of.axis, of.seen, of.tokens);
  const auto two = column_tokens_gradients(of.axis, of.seen, of.tokens);
  EXPECT_TRUE(torch::equal(one.labels, two.labels));
  EXPECT_TRUE(torch::equal(one.evidence, two.evidence));
  EXPECT_TRUE(torch::equal(one.strength, two.strength));
  EXPECT_TRUE(torch::equal(one.position, two.position));
  const auto three = column_logits_gradients(of.axis, of.grad_logits, of.tokens, of.weights.labels);
  const auto four = column_logits_gradients(of.axis, of.grad_logits, of.tokens, of.weights.labels);
  EXPECT_TRUE(torch::equal(three.labels, four.labels));
  EXPECT_TRUE(torch::equal(three.bias, four.bias));
}

TEST(ColumnTokens, WhatTheKernelsDoNotSupportIsRefused_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const Case of({{2, 5, 3}, 7, 40}, torch::kFloat32);
  const auto& E = of.weights.labels;
  if (!columns_serve(of.axis, E)) GTEST_SKIP() << "built without CUDA";
  EXPECT_FALSE(columns_serve(of.axis, E.to(torch::kFloat64)));
  EXPECT_FALSE(columns_serve(of.axis, E.slice(1, 0, 36).contiguous())) << "not a multiple of 8";
  EXPECT_FALSE(columns_serve(of.axis, E.slice(1, 0, 32))) << "not contiguous";
  EXPECT_FALSE(columns_serve(of.axis, E.slice(0, 1)));
  const auto flat = torch::zeros({10 * 40 + 1}, E.options());
  EXPECT_FALSE(columns_serve(of.axis, flat.slice(0, 1).view({10, 40}))) << "not aligned";
  ColumnAxis many = of.axis;
  many.max_labels = kMaxColumnLabels + 1;
  EXPECT_FALSE(columns_serve(many, E));
  EXPECT_THROW(column_tokens_gradients(of.axis, of.seen, of.tokens.slice(0, 1)), Error) << "another number of items";
  EXPECT_THROW(column_logits(of.axis, of.tokens, E.to(torch::kBFloat16), of.bias), Error);
}

TEST(ColumnTokens, AreFusedOnCudaAlone) {
  const Space space = test::mixed_space();
  const int64_t S = space.n_coordinates(), n = space.n_variables();
  const auto E = torch::zeros({S, 8});
  const ColumnsSeen seen{torch::zeros({3, S}), torch::zeros({3, S}), torch::zeros({3, n})};
  EXPECT_FALSE(fuses_column_tokens(space, seen, {E, E, torch::zeros({1, 8}), torch::zeros({n, 8})}));
  EXPECT_FALSE(fuses_column_logits(space, torch::zeros({3, n, 8}), E, torch::zeros({S})));
}

}  // namespace
}  // namespace segre::kernels::column_tokens_test
