#include "segre/kernels/path_kernels.h"

#include <cmath>
#include <limits>

#include "segre/path/e_geodesic.h"
#include "segre/path/path.h"
#include "segre/simplex/lift.h"
#include "segre/simplex/tangent.h"
#include "segre/space/blocks.h"
#include "segre/state/known_rows.h"
#include "tests/support/reference.h"
#include "tests/support/threads.h"

// Every fused loop compared with its plain twin in float64, on rows around the width of a vector register.

namespace segre::kernels {
namespace {

using test::max_difference;
using test::noise;
using test::some_labels;
using test::space_of;

// float32 against float64: logits up to 30 rounded at 2^-24 move a probability by 2e-6, sums of 300 terms a bit more.
constexpr double kSingleTol = 1e-5;
constexpr int64_t kBatches[] = {1, 3, 65};

std::vector<Space> spaces() {
  std::vector<Space> out;
  for (const int64_t c : {1, 2, 15, 16, 17, 91, 300}) out.push_back(Space::uniform(Layout::sequence, {3}, c));
  out.push_back(space_of({1, 2, 15, 16, 17, 91, 300, 1, 2}));
  out.push_back(test::mixed_space());
  return out;
}

// All inputs of the kernels in float32, with float64 copies of exactly the same numbers.
struct Case {
  Case(Space space_in, int64_t B) : space(std::move(space_in)) {
    const int64_t S = space.n_coordinates();
    v = noise({B, S}, 1, torch::kFloat32);
    message = 2.0 * noise({B, S}, 2, torch::kFloat32);
    labels = some_labels(space, B);
    scale = noise({B}, 3, torch::kFloat32).abs();
    weight = noise({B}, 4, torch::kFloat32).abs();
    kappa = variable_scales(space, *make_e_geodesic(0.01), torch::kFloat32);
  }
  static torch::Tensor wide(const torch::Tensor& x) { return x.to(torch::kFloat64); }
  // message + scale kappa v.
  torch::Tensor logits(const torch::Tensor& wide_message) const {
    return wide_message + wide(scale).unsqueeze(1) * spread(space, wide(kappa)) * wide(v);
  }
  Space space;
  torch::Tensor v, message, labels, scale, weight, kappa;
};

template <class Check>
void for_all_cases(Check&& check) {
  for (const Space& space : spaces())
    for (const int64_t B : kBatches) {
      SCOPED_TRACE(concat(space.describe(), ", batch ", B));
      check(Case(space, B));
    }
}

// A case in which something is known: labels, soft evidence or both, at one time for each row or each variable.
struct KnownCase : Case {
  KnownCase(const Space& space_in, int64_t B, bool with_labels, bool with_soft, bool own_times) : Case(space_in, B) {
    const int64_t n = space.n_variables();
    if (own_times) scale = 0.5 * noise({B, n}, 5, torch::kFloat32).abs();
    if (with_soft) known.soft = noise({B, space.n_coordinates()}, 6, torch::kFloat32);
    if (!with_labels) return;
    const auto u = noise({B, n}, 7);
    const auto mark = [](int64_t value) { return torch::full({1}, value, torch::kInt64); };
    // Three of ten variables are known, three are left out; the labels of these are unknown.
    known.labels =
        torch::where(u > 0.5, some_labels(space, B, 8), torch::where(u < -0.5, mark(kLeftOut), mark(kUnknown)));
    labels = torch::where(known.labels == kLeftOut, mark(kUnknown), labels);
  }
  KnownRows rows() const { return known_rows(known); }
  torch::Tensor real_labels() const { return labels.clamp_min(0); }
  // The factor of rows or variables for every coordinate, in float64.
  torch::Tensor per_coordinate(const torch::Tensor& x) const {
    return x.dim() == 2 ? spread(space, wide(x)) : wide(x).unsqueeze(1);
  }
  // What is added to the message.
  torch::Tensor evidence() const {
    const auto e = only_open(space, known, per_coordinate(scale) * spread(space, wide(kappa)) * wide(v));
    return known.soft.defined() ? e + wide(known.soft) : e;
  }
  Known known;
};

template <class Check>
void for_all_known_cases(Check&& check) {
  for (const Space& space : spaces())
    for (const int64_t B : kBatches)
      for (const bool own_times : {false, true})
        for (const auto& [with_labels, with_soft] : {std::pair{true, false}, {false, true}, {true, true}}) {
          SCOPED_TRACE(concat(space.describe(), ", batch ", B, with_labels ? ", labels" : "", with_soft ? ", soft" : "",
                              own_times ? ", own times" : ""));
          check(KnownCase(space, B, with_labels, with_soft, own_times));
        }
}

// Largest difference relative to the largest number, as rounding is.
double relative(const torch::Tensor& single, const torch::Tensor& exact) {
  return max_difference(single.to(torch::kFloat64), exact) / std::max(1.0, exact.abs().max().item<double>());
}

TEST(PathKernels, ServeFloat32OnTheCpuOnly) {
  EXPECT_TRUE(serves(torch::zeros({1})));
  EXPECT_FALSE(serves(torch::zeros({1}, torch::kFloat64)));
}

TEST(PathKernels, GaussianPathEqualsItsTwin) {
  for_all_cases([](const Case& k) {
    const auto s = 1.0 - k.scale.clamp(0, 0.9);
    auto out = k.v.clone();
    gaussian_path_(out, k.space, k.labels, k.scale, s, k.kappa);
    const auto path = make_e_geodesic(0.01);
    const auto exact = Case::wide(k.scale).unsqueeze(1) * corners(k.space, *path, k.labels, torch::kFloat64) +
                       Case::wide(s).unsqueeze(1) * project(k.space, Case::wide(k.v));
    EXPECT_LT(relative(out, exact), kSingleTol);
  });
}

TEST(PathKernels, ScaledSoftmaxEqualsItsTwin) {
  for_all_cases([](const Case& k) {
    const auto out = scaled_softmax(k.v, k.space, k.scale, k.kappa);
    const auto exact = lift(k.space, k.logits(torch::zeros_like(k.v, torch::kFloat64)));
    EXPECT_LT(max_difference(out, exact), kSingleTol);
    const auto shared = scaled_softmax(k.v, k.space, k.scale.narrow(0, 0, 1), k.kappa);
    EXPECT_TRUE(
        torch::equal(shared, scaled_softmax(k.v, k.space, k.scale[0].expand({k.v.size(0)}).contiguous(), k.kappa)));
  });
}

TEST(PathKernels, CrossEntropyAndItsGradientEqualTheTwinsAutograd) {
  for_all_cases([](const Case& k) {
    const auto out = cross_entropy(k.message, k.v, k.space, k.scale, k.kappa, k.labels, k.weight);
    auto message = Case::wide(k.message).requires_grad_(true);
    const auto logits = k.logits(message);
    const auto loss = -pick(k.space, log_lift(k.space, logits), k.labels).sum(-1);
    (Case::wide(k.weight) * loss).sum().backward();
    EXPECT_LT(relative(out.loss, loss.detach()), kSingleTol);
    EXPECT_LT(relative(out.gradient, message.grad()), kSingleTol);
    const auto path = make_e_geodesic(0.01);
    const auto D = mean_corner(k.space, *path, lift(k.space, logits.detach()));
    const auto error = squared_norm(corners(k.space, *path, k.labels, torch::kFloat64) - D);
    EXPECT_LT(relative(out.error, error), kSingleTol);
  });
}

TEST(PathKernels, CrossEntropyWithoutAScaleUsesTheMessageAlone) {
  const Case k(test::mixed_space(), 5);
  const auto out = cross_entropy(k.message, k.v, k.space, torch::empty({0}), k.kappa, k.labels, k.weight);
  const auto loss = -pick(k.space, log_lift(k.space, Case::wide(k.message)), k.labels).sum(-1);
  EXPECT_LT(relative(out.loss, loss), kSingleTol);
}

TEST(PathKernels, EndpointVelocityEqualsItsTwin) {
  constexpr double kT = 0.4;
  const auto path = make_e_geodesic(0.01);
  const auto at = path->at(kT);
  const auto t = torch::full({1}, kT, torch::kFloat64);
  for_all_cases([&](const Case& k) {
    const auto v = project(k.space, k.v);
    const double ratio = at.a / (at.s * at.s);
    const auto out =
        endpoint_velocity(k.message, v, k.space, ratio, at.da - at.a * at.ds / at.s, at.ds / at.s, k.kappa);
    const auto logits = Case::wide(k.message) + Case::wide(v) * evidence_scale(k.space, *path, t);
    const auto D = mean_corner(k.space, *path, lift(k.space, logits));
    EXPECT_LT(relative(out, velocity_from_endpoint(*path, D, Case::wide(v), t)), kSingleTol);
  });
}

TEST(PathKernels, GaussianPathWithWhatIsKnownEqualsItsTwin) {
  const auto path = make_e_geodesic(0.01);
  for_all_known_cases([&](const KnownCase& k) {
    const auto s = 1.0 - k.scale.clamp(0, 0.9);
    auto out = k.v.clone();
    gaussian_path_(out, k.space, k.labels, k.scale, s, k.kappa, k.rows());
    const auto all = k.per_coordinate(k.scale) * corners(k.space, *path, k.real_labels(), torch::kFloat64) +
                     k.per_coordinate(s) * project(k.space, Case::wide(k.v));
    EXPECT_LT(relative(out, only_open(k.space, k.known, all)), kSingleTol);
  });
}

TEST(PathKernels, ScaledSoftmaxWithWhatIsKnownEqualsItsTwin) {
  for_all_known_cases([](const KnownCase& k) {
    const auto out = scaled_softmax(k.v, k.space, k.scale, k.kappa, k.rows());
    EXPECT_LT(max_difference(out, with_corners(k.space, k.known, lift(k.space, k.evidence()))), kSingleTol);
    if (!k.known.labels.defined()) return;
    const auto is_known = spread(k.space, k.known.labels >= 0);
    const auto corner = one_hot(k.space, k.known.labels.clamp_min(0), torch::kFloat32);
    EXPECT_TRUE(torch::equal(out.masked_select(is_known), corner.masked_select(is_known))) << "corners to the bit";
  });
}

TEST(PathKernels, CrossEntropyWithWhatIsKnownEqualsItsTwin) {
  const auto path = make_e_geodesic(0.01);
  for_all_known_cases([&](const KnownCase& k) {
    const auto out = cross_entropy(k.message, k.v, k.space, k.scale, k.kappa, k.labels, k.weight, k.rows());
    auto message = Case::wide(k.message).requires_grad_(true);
    const auto logits = message + k.evidence();
    const auto loss = -sum_open(k.known, pick(k.space, log_lift(k.space, logits), k.real_labels()));
    (Case::wide(k.weight) * loss).sum().backward();
    EXPECT_LT(relative(out.loss, loss.detach()), kSingleTol);
    EXPECT_LT(relative(out.gradient, message.grad()), kSingleTol);
    const auto D = mean_corner(k.space, *path, lift(k.space, logits.detach()));
    const auto difference = corners(k.space, *path, k.real_labels(), torch::kFloat64) - D;
    EXPECT_LT(relative(out.error, squared_norm(only_open(k.space, k.known, difference))), kSingleTol);
  });
}

TEST(PathKernels, EndpointVelocityWithWhatIsKnownEqualsItsTwin) {
  constexpr double kT = 0.4;
  const auto path = make_e_geodesic(0.01);
  const auto at = path->at(kT);
  const auto t = torch::full({1}, kT, torch::kFloat64);
  for_all_known_cases([&](const KnownCase& k) {
    const auto v = project(k.space, k.v);
    const auto out = endpoint_velocity(k.message, v, k.space, at.a / (at.s * at.s), at.da - at.a * at.ds / at.s,
                                       at.ds / at.s, k.kappa, k.rows());
    auto logits = Case::wide(k.message) + Case::wide(v) * evidence_scale(k.space, *path, t);
    if (k.known.soft.defined()) logits = logits + Case::wide(k.known.soft);
    const auto D = mean_corner(k.space, *path, lift(k.space, logits));
    const auto F = velocity_from_endpoint(*path, D, Case::wide(v), t);
    EXPECT_LT(relative(out, only_open(k.space, k.known, F)), kSingleTol);
  });
}

TEST(PathKernels, ALabelThatSoftEvidenceRulesOutHasNoProbability) {
  const Case k(space_of({2, 20}), 3);
  auto soft = torch::zeros({3, 22});
  soft.select(1, 1).fill_(-std::numeric_limits<float>::infinity());
  soft.select(1, 10).fill_(-std::numeric_limits<float>::infinity());
  const auto W = scaled_softmax(k.v, k.space, k.scale, k.kappa, {.soft = soft});
  EXPECT_EQ(W.select(1, 1).abs().max().item<float>(), 0.0f);
  EXPECT_EQ(W.select(1, 10).abs().max().item<float>(), 0.0f);
  EXPECT_LT(max_difference(W.sum(1), torch::full({3}, 2.0)), kSingleTol);  // two variables, each sums to 1
}

TEST(PathKernels, LargeLogitsStayFinite) {
  const Case k(test::mixed_space(), 9);
  const auto message = 1e4 * k.message;
  const auto v = 1e3 * k.v;
  const auto out = cross_entropy(message, v, k.space, 100.0 * k.scale, k.kappa, k.labels, k.weight);
  EXPECT_TRUE(out.loss.isfinite().all().item<bool>());
  EXPECT_TRUE(out.gradient.isfinite().all().item<bool>());
  EXPECT_GT(out.loss.max().item<double>(), 1e3);  // wrong labels do cost that much
  const auto W = scaled_softmax(v, k.space, 100.0 * k.scale, k.kappa);
  EXPECT_LT(max_difference(W.sum(1), torch::full({9}, 5.0)), kSingleTol);  // five variables, each sums to 1
  EXPECT_TRUE(endpoint_velocity(message, v, k.space, 1e3, 1.0, -1.0, k.kappa).isfinite().all().item<bool>());
}

TEST(PathKernels, ResultsDoNotDependOnTheNumberOfThreads) {
  const Case k(test::mixed_space(), 3000);
  const auto with = [&](int count) {
    const test::Threads threads(count);
    return cross_entropy(k.message, k.v, k.space, k.scale, k.kappa, k.labels, k.weight);
  };
  const auto one = with(1);
  const auto two = with(2);
  EXPECT_TRUE(torch::equal(one.loss, two.loss));
  EXPECT_TRUE(torch::equal(one.gradient, two.gradient));
}

TEST(PathKernels, RefuseRowsThatAreNotTheirs) {
  const Case k(test::mixed_space(), 2);
  EXPECT_THROW(scaled_softmax(Case::wide(k.v), k.space, k.scale, k.kappa), Error);
  EXPECT_THROW(scaled_softmax(k.v.narrow(1, 0, 19), k.space, k.scale, k.kappa), Error);
  EXPECT_THROW(scaled_softmax(k.v[0], k.space, k.scale, k.kappa), Error);
  const auto columns = torch::zeros({5, 2}, torch::kInt64).t();  // not row by row
  EXPECT_THROW(scaled_softmax(k.v, k.space, k.scale, k.kappa, {.marks = columns}), Error);
  EXPECT_THROW(scaled_softmax(k.v, k.space, torch::ones({5, 2}).t(), k.kappa), Error);
}

}  // namespace
}  // namespace segre::kernels
