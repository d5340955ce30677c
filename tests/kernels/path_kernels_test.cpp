#include "segre/kernels/path_kernels.h"

#include <cmath>
#include <limits>
#include <tuple>

#include "segre/core/captured.h"
#include "segre/model/model.h"
#include "segre/path/e_geodesic.h"
#include "segre/path/known_rows.h"
#include "segre/path/path.h"
#include "segre/path/path_sample.h"
#include "segre/path/simplex.h"
#include "segre/space/blocks.h"
#include "tests/support/reference.h"
#include "tests/support/threads.h"

// Every fused loop compared with its plain twin in float64, on rows around the width of a vector register.

namespace segre::kernels::path_kernels_test {
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
  for (const int64_t c : {1, 2, 15, 16, 17, 91, 300}) out.push_back(Space::sequence(3, c));
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

TEST(PathKernels, ServeFloat32) {
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

// A case with everything that evidence_inputs reads. `scale` and `ratio` need not belong to one time here.
struct EvidenceCase : KnownCase {
  EvidenceCase(const KnownCase& of) : KnownCase(of) {
    ratio = 0.3 * noise(scale.sizes(), 9, torch::kFloat32).abs();
    if (known.soft.defined()) odds = noise({v.size(0), space.n_variables()}, 10, torch::kFloat32).abs();
  }
  EvidenceInputs fused(bool with_standardised = true) const {
    return evidence_inputs(v, space, {.scale = scale, .ratio = ratio, .last = last}, kappa, rows(), odds,
                           with_standardised);
  }
  torch::Tensor ratio, odds, last = torch::full({1}, 1.5f);
};

// The formulas of Model::strength and Model::standardised in float64.
EvidenceInputs plain_evidence(const EvidenceCase& k) {
  const auto wide = &Case::wide;
  const auto most = 2.0 * (wide(k.kappa) * wide(k.last)).square();
  auto g = 2.0 * (wide(k.kappa) * (k.ratio.dim() == 2 ? wide(k.ratio) : wide(k.ratio).unsqueeze(1))).square();
  if (k.known.labels.defined()) g = g * (k.known.labels == kUnknown);
  if (k.odds.defined()) g = g + 2.0 * wide(k.odds);
  if (k.known.labels.defined()) g = torch::where(k.known.labels >= 0, most, g);
  const auto shrink = (1.0 + g).rsqrt();
  const auto W = with_corners(k.space, k.known, lift(k.space, k.evidence()));
  auto z = k.evidence() * spread(k.space, shrink);
  if (k.known.labels.defined()) {
    const auto evenly = lift(k.space, torch::zeros_like(W));
    const auto corner = (W - evenly) * spread(k.space, 0.5 * g * shrink);
    z = torch::where(spread(k.space, k.known.labels >= 0), corner, z);
  }
  return {W, g, z};
}

TEST(PathKernels, EvidenceInputsEqualTheirTwins) {
  for_all_known_cases([](const KnownCase& of) {
    const EvidenceCase k(of);
    const auto out = k.fused();
    const auto exact = plain_evidence(k);
    EXPECT_LT(max_difference(out.W, exact.W), kSingleTol);
    EXPECT_LT(relative(out.strength, exact.strength), kSingleTol);
    EXPECT_LT(relative(out.standardised, exact.standardised), kSingleTol);
    EXPECT_TRUE(torch::equal(out.W, scaled_softmax(k.v, k.space, k.scale, k.kappa, k.rows()))) << "to the bit";
  });
}

TEST(PathKernels, EvidenceInputsAreStandardisedOnlyIfAsked) {
  const EvidenceCase k(KnownCase(test::mixed_space(), 3, true, true, false));
  const auto with = k.fused();
  const auto without = k.fused(/*with_standardised=*/false);
  EXPECT_FALSE(without.standardised.defined());
  EXPECT_TRUE(torch::equal(without.W, with.W));
  EXPECT_TRUE(torch::equal(without.strength, with.strength));
}

// Through Model, which takes the kernel in float32 and tensor operations in float64.
TEST(PathKernels, EvidenceInputsAreWhatAModelShowsWithoutThem) {
  const auto path = make_e_geodesic(0.01);
  for (const Space& space : spaces())
    for (const bool own_times : {false, true}) {
      SCOPED_TRACE(concat(space.describe(), own_times ? ", own times" : ""));
      const KnownCase k(space, 5, true, false, own_times);
      // Early times: logits up to 60, as in the other tests.
      const auto t = 0.4 * noise(k.scale.sizes(), 11, torch::kFloat32).abs().clamp_max(1.0);
      const auto shown = [&](torch::ScalarType type) {
        const auto field =
            std::make_shared<test::FixedField>(noise({space.n_coordinates()}, 1, type), FieldReads::standardised);
        return Model(space, path, Form::evidence, field).field_input({k.v.to(type), t.to(type), k.known});
      };
      const auto single = shown(torch::kFloat32);
      const auto exact = shown(torch::kFloat64);
      EXPECT_LT(max_difference(single.W, exact.W), kSingleTol);
      EXPECT_EQ(single.strength.sizes(), exact.strength.sizes());
      EXPECT_LT(relative(single.strength, exact.strength), kSingleTol);
      EXPECT_LT(relative(single.standardised, exact.standardised), kSingleTol);
    }
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

// ---- CUDA ----

// The same operations on the same float32 numbers, but the sums, of up to 3000 labels or 70 variables, are in another
// order; relative to the largest number.
constexpr double kCudaTol = 5e-6;

// Groups of one thread, a warp and a block per variable.
std::vector<Space> cuda_spaces() {
  std::vector<Space> out;
  out.push_back(test::binary_space(70));
  std::vector<int64_t> counts;
  for (int64_t c = 1; c <= 40; ++c) counts.push_back(c);
  out.push_back(space_of(counts));
  out.push_back(space_of({3, 1, 8}));
  out.push_back(Space::sequence(3, 3000));
  out.push_back(space_of({2, 3000, 1, 40}));
  return out;
}

template <class Check>
void for_all_cuda_cases(Check&& check) {
  for (const Space& space : cuda_spaces())
    for (const int64_t B : {1, 65})
      for (const bool own_times : {false, true})
        for (const bool with_labels : {false, true})
          for (const bool with_soft : {false, true}) {
            SCOPED_TRACE(concat(space.describe(), ", batch ", B, with_labels ? ", labels" : "",
                                with_soft ? ", soft" : "", own_times ? ", own times" : ""));
            check(EvidenceCase(KnownCase(space, B, with_labels, with_soft, own_times)));
          }
}

EvidenceCase on_cuda(const EvidenceCase& of) {
  EvidenceCase out = of;
  for (torch::Tensor* x : {&out.v, &out.message, &out.labels, &out.scale, &out.weight, &out.kappa, &out.known.labels,
                           &out.known.soft, &out.ratio, &out.odds, &out.last})
    if (x->defined()) *x = x->to(torch::kCUDA);
  return out;
}

// Rows from ... to - 1.
EvidenceCase slice(const EvidenceCase& of, int64_t from, int64_t to) {
  EvidenceCase out = of;
  for (torch::Tensor* x : {&out.v, &out.message, &out.labels, &out.scale, &out.weight, &out.known.labels,
                           &out.known.soft, &out.ratio, &out.odds})
    if (x->defined()) *x = x->slice(0, from, to).contiguous();
  return out;
}

// Everything that the kernels give.
std::vector<std::pair<const char*, torch::Tensor>> results(const EvidenceCase& k) {
  auto path = k.v.clone();
  gaussian_path_(path, k.space, k.labels, k.scale, 1.0 - k.scale.clamp(0, 0.9), k.kappa, k.rows());
  const auto loss = cross_entropy(k.message, k.v, k.space, k.scale, k.kappa, k.labels, k.weight, k.rows());
  const auto shown = k.fused();
  return {{"path", path},
          {"softmax", scaled_softmax(k.v, k.space, k.scale, k.kappa, k.rows())},
          {"loss", loss.loss},
          {"error", loss.error},
          {"gradient", loss.gradient},
          {"velocity", endpoint_velocity(k.message, k.v, k.space, 0.7, 1.3, -1.6, k.kappa, k.rows())},
          {"W", shown.W},
          {"strength", shown.strength},
          {"standardised", shown.standardised}};
}

TEST(PathKernels, CudaEqualsTheCpu_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  EXPECT_TRUE(serves(torch::zeros({1}, torch::kCUDA)));
  EXPECT_FALSE(serves(torch::zeros({1}, torch::device(torch::kCUDA).dtype(torch::kFloat64))));
  for_all_cuda_cases([](const EvidenceCase& k) {
    const auto wanted = results(k);
    const auto found = results(on_cuda(k));
    for (size_t r = 0; r < wanted.size(); ++r) {
      ASSERT_TRUE(found[r].second.is_cuda());
      EXPECT_LT(relative(found[r].second.cpu(), Case::wide(wanted[r].second)), kCudaTol) << wanted[r].first;
      // One thread for a variable of few labels does what the CPU does, in the same order.
      if (k.space.max_labels() <= 8 && wanted[r].second.dim() == 2) {
        EXPECT_TRUE(torch::equal(found[r].second.cpu(), wanted[r].second)) << wanted[r].first << " to the bit";
      }
    }
  });
}

TEST(PathKernels, CudaSharesATimeAndNeedsNoScale_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const EvidenceCase k = on_cuda(EvidenceCase(KnownCase(test::mixed_space(), 5, false, false, false)));
  const auto shared = scaled_softmax(k.v, k.space, k.scale.narrow(0, 0, 1), k.kappa);
  EXPECT_TRUE(torch::equal(shared, scaled_softmax(k.v, k.space, k.scale[0].expand({5}).contiguous(), k.kappa)));
  const auto none = cross_entropy(k.message, k.v, k.space, torch::empty({0}, torch::kCUDA), k.kappa,
                                  k.labels.t().contiguous().t(), k.weight);
  const auto zero =
      cross_entropy(k.message, k.v, k.space, torch::zeros({1}, torch::kCUDA), k.kappa, k.labels, k.weight);
  EXPECT_TRUE(torch::equal(none.loss, zero.loss));
  EXPECT_TRUE(torch::equal(none.gradient, zero.gradient));
}

TEST(PathKernels, CudaGivesAnItemTheSameBitsInEveryBatch_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  for (const Space& space : cuda_spaces()) {
    SCOPED_TRACE(space.describe());
    const EvidenceCase k = on_cuda(EvidenceCase(KnownCase(space, 33, true, true, true)));
    const auto all = results(k);
    const auto some = results(slice(k, 7, 20));
    for (size_t r = 0; r < all.size(); ++r)
      EXPECT_TRUE(torch::equal(some[r].second, all[r].second.slice(0, 7, 20))) << all[r].first;
    EXPECT_EQ(results(slice(k, 0, 0)).front().second.size(0), 0) << "no rows, nothing to do";
  }
}

TEST(PathKernels, CudaLeavesRuledOutLabelsWithoutProbabilityAndLargeLogitsFinite_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  for (const Space& space : cuda_spaces()) {
    SCOPED_TRACE(space.describe());
    EvidenceCase k = on_cuda(EvidenceCase(KnownCase(space, 3, false, true, false)));
    k.known.soft.select(1, 1).fill_(-std::numeric_limits<float>::infinity());
    EXPECT_EQ(k.fused().W.select(1, 1).abs().max().item<float>(), 0.0f);
    k.known.soft.zero_();
    k.message = 1e4 * k.message;
    k.scale = 1e3 * k.scale;
    for (const auto& [name, x] : results(k)) EXPECT_TRUE(x.isfinite().all().item<bool>()) << name;
  }
}

// A training step is captured as a graph, which forbids waiting and copies from the host.
TEST(PathKernels, CudaKernelsOfMixedSpacesCanBeCaptured_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const Case k(test::mixed_space(), 9);
  const auto path = make_e_geodesic(0.01);
  // The path of labels and times, the loss of a message there, and what a network is shown.
  const auto step = [&](const std::vector<torch::Tensor>& in) -> std::vector<torch::Tensor> {
    const auto& [labels, t, message, kappa] = std::tie(in[0], in[1], in[2], in[3]);
    const auto v = sample_path(k.space, *path, labels, t, {1, Purpose::probe}, 0, WithVelocity::no).v_t;
    const auto loss = cross_entropy(message, v, k.space, t, kappa, labels, t);
    const auto shown = evidence_inputs(v, k.space, {t, t, t.slice(0, -1)}, kappa, {.marks = labels}, {}, true);
    return {v, loss.loss, loss.error, loss.gradient, shown.W, shown.strength, shown.standardised};
  };
  const Captured captured(step, torch::kCUDA);
  for (int call = 0; call < 6; ++call) {
    const auto t = torch::linspace(0.1, 0.5, 9, torch::kFloat32) + 0.05 * call;
    std::vector<torch::Tensor> there;
    for (const auto& x : {k.labels, t, k.message, k.kappa}) there.push_back(x.to(torch::kCUDA));
    const auto found = captured(there);
    const auto wanted = step({k.labels, t, k.message, k.kappa});
    for (size_t r = 0; r < wanted.size(); ++r)
      EXPECT_LT(relative(found[r].cpu(), Case::wide(wanted[r])), kCudaTol) << "call " << call << ", result " << r;
  }
}

}  // namespace
}  // namespace segre::kernels::path_kernels_test
