#include "segre/likelihood/trace.h"

#include "segre/likelihood/quadrature.h"
#include "segre/net/mlp.h"
#include "segre/path/simplex.h"
#include "segre/recipes/experiment.h"
#include "tests/support/reference.h"

namespace segre::trace_test {
namespace {

// An MLP on a small mixed table, in float64, with noise of this size added to its weights.
Flow small_model(const Space& space, double weights = 0.0, Form form = Form::evidence) {
  Experiment recipe;
  recipe.net.kind = "mlp";
  recipe.net.of<MlpOptions>().hidden = {16};
  const Model fresh = make_model(recipe, space, torch::kCPU);
  test::to_double(fresh.field());
  const torch::NoGradGuard no_grad;
  uint64_t seed = 1;
  for (const auto& [name, parameter] : fresh.field().parameters())
    parameter.add_(test::noise(parameter.sizes(), ++seed), weights);
  return flow_of(
      Model(space, fresh.shared_path(), form, std::shared_ptr<Field>(std::make_shared<Model>(fresh), &fresh.field())));
}

// The trace by central differences along an orthonormal frame.
double trace_by_differences(const Flow& flow, const torch::Tensor& v, double t) {
  const auto frame = test::tangent_frame(flow.space);  // [S, dims]
  const auto times = torch::full({1}, t, torch::kFloat64);
  constexpr double h = 1e-5;
  double total = 0.0;
  for (int64_t k = 0; k < frame.size(1); ++k) {
    const auto q = frame.select(1, k).unsqueeze(0);
    const auto slope = (flow.endpoint({v + h * q, times}) - flow.endpoint({v - h * q, times})) / (2.0 * h);
    total += (slope * q).sum().item<double>();
  }
  return total;
}

TEST(Trace, ExactIsTheTraceByDifferences) {
  const Space space = test::small_mixed_space();
  const Flow flow = small_model(space);
  const Trace trace(flow, {.kind = TraceKind::exact});
  const auto v = test::tangent_noise(space, 3);
  for (const double t : {0.05, 0.3, 0.5}) {
    const auto D = flow.endpoint({v, torch::full({1}, t, torch::kFloat64)}).detach();
    const auto found = trace(v, D, t, {1, 2, 3}, 0);
    for (int64_t k = 0; k < 3; ++k) {
      const double expected = trace_by_differences(flow, v.narrow(0, k, 1), t);
      // Central differences with a step of 1e-5 are good to about 1e-8 of the endpoint's third derivative.
      EXPECT_NEAR(found[k].item<double>(), expected, 1e-6 * (1.0 + std::abs(expected))) << t;
    }
  }
}

TEST(Trace, SkippingDecidedVariablesChangesNothing) {
  const Space space = test::small_mixed_space();
  Flow flow = small_model(space, /*weights=*/0.5);
  Flow plain = flow;
  plain.from_evidence = false;  // every direction is differentiated
  const auto v = test::tangent_noise(space, 50);
  const std::vector<uint64_t> seeds(50, 1);
  for (const double t : {0.2, 0.3, 0.4}) {
    const auto D = flow.endpoint({v, torch::full({1}, t, torch::kFloat64)}).detach();
    const auto skipped = Trace(flow, {.kind = TraceKind::exact})(v, D, t, seeds, 0);
    const auto all = Trace(plain, {.kind = TraceKind::exact})(v, D, t, seeds, 0);
    // What is left out is of the order of the spread squared, 1e-10, times kappa^2 a/s^2 of some hundred.
    EXPECT_LT(test::max_difference(skipped, all), 1e-6) << t;
  }
}

// In the endpoint form a decided variable's derivative is whatever the network makes of it; the evidence's closed form,
// some 1e-3 here, does not apply.
TEST(Trace, DecidedVariablesOfTheEndpointFormAreDifferentiatedToo) {
  const Space space = test::small_mixed_space();
  const Flow flow = small_model(space, /*weights=*/2.0, Form::endpoint);
  const auto v = test::tangent_noise(space, 40);
  const double t = 0.5;
  const auto D = flow.endpoint({v, torch::full({1}, t, torch::kFloat64)}).detach();
  const auto found = Trace(flow, {.kind = TraceKind::exact})(v, D, t, std::vector<uint64_t>(40, 1), 0);
  const auto corner = D.abs().amax(1) / flow.path->corner_scale(4);
  ASSERT_GT((corner > 0.74999).sum().item<int64_t>(), 5) << "rows with a decided variable of four labels";
  for (int64_t k = 0; k < 40; ++k) {
    const double expected = trace_by_differences(flow, v.narrow(0, k, 1), t);
    EXPECT_NEAR(found[k].item<double>(), expected, 1e-6 * (1.0 + std::abs(expected))) << k;
  }
}

TEST(Trace, ProbesAreUnbiased) {
  const Space space = test::small_mixed_space();
  const Flow flow = small_model(space);
  const auto v = test::tangent_noise(space, 1).repeat({400, 1});
  const auto D = flow.endpoint({v, torch::full({1}, 0.2, torch::kFloat64)}).detach();
  const double exact =
      Trace(flow, {.kind = TraceKind::exact})(v.narrow(0, 0, 1), D.narrow(0, 0, 1), 0.2, {1}, 0).item<double>();
  std::vector<uint64_t> seeds(400);
  for (size_t k = 0; k < seeds.size(); ++k) seeds[k] = k;
  double scatter_before = 1e9;
  for (const TraceOptions& options :
       {TraceOptions{.kind = TraceKind::hutchinson}, TraceOptions{.kind = TraceKind::hutchinson, .probes = 4},
        TraceOptions{.kind = TraceKind::lattice, .stride = 3}}) {
    const auto found = Trace(flow, options)(v, D, 0.2, seeds, 5);
    const double scatter = found.std().item<double>();
    EXPECT_NEAR(found.mean().item<double>(), exact, 5.0 * scatter / 20.0 + 1e-9);
    EXPECT_LT(scatter, 0.8 * scatter_before);
    scatter_before = scatter;
  }
}

TEST(Trace, EveryProbeOfEveryNumberHasSignsOfItsOwn) {
  // D = v A: the quadratic form of a probe p is p^T A p, and the probes' signs are numbers of a known stream.
  const Space space = test::small_mixed_space();
  const auto A = test::noise({space.n_coordinates(), space.n_coordinates()}, 3);
  Flow flow = small_model(space);
  flow.endpoint = [A](const State& state) { return state.v.matmul(A); };
  const std::vector<uint64_t> seeds{11, 12};
  constexpr uint64_t kNumber = 3;
  constexpr int64_t kProbes = 2;
  auto expected = torch::zeros({2}, torch::kFloat64);
  for (int64_t row = 0; row < 2; ++row)
    for (int64_t draw = 0; draw < kProbes; ++draw) {
      const auto first = static_cast<uint64_t>((kNumber * kProbes + draw) * space.n_dims());
      const auto u = fill_uniform(torch::empty({1, space.n_dims()}), {seeds[row], Purpose::probe}, first);
      const auto p = tangent_vectors(space, (2 * (u >= 0.5).to(torch::kFloat64) - 1));
      expected[row] += p.matmul(A).mul(p).sum() / static_cast<double>(kProbes);
    }
  const auto v = test::tangent_noise(space, 2);
  const auto found = Trace(flow, {.kind = TraceKind::hutchinson, .probes = kProbes})(v, v, 0.2, seeds, kNumber);
  EXPECT_LT(test::max_difference(found, expected), 1e-12);
}

TEST(Trace, LatticeProbesPartitionTheDirections) {
  const Space image = Space::image(4, 6, 3);
  const auto classes = probe_classes(image, {.kind = TraceKind::lattice, .stride = 2});
  EXPECT_EQ(classes.numel(), image.n_dims());
  EXPECT_EQ(classes.max().item<int64_t>() + 1, 2 * 2 * 2);  // residues of rows and columns, two directions a pixel
  // Pixels two apart share their probes, neighbours do not.
  const auto of_pixel = [&](int64_t y, int64_t x) { return classes[(y * 6 + x) * 2].item<int64_t>(); };
  EXPECT_EQ(of_pixel(0, 0), of_pixel(2, 4));
  EXPECT_NE(of_pixel(0, 0), of_pixel(0, 1));
  EXPECT_NE(of_pixel(0, 0), of_pixel(1, 0));
  EXPECT_EQ(probe_classes(image, {.kind = TraceKind::hutchinson}).max().item<int64_t>(), 0);
}

TEST(Trace, TangentVectorsAreOrthonormal) {
  for (const Space& space : {test::small_mixed_space(), Space::sequence(3, 4)}) {
    const auto vectors = tangent_vectors(space, torch::eye(space.n_dims(), torch::kFloat64));
    const auto gram = vectors.matmul(vectors.t());
    EXPECT_LT(test::max_difference(gram, torch::eye(space.n_dims(), torch::kFloat64)), 1e-12);
    EXPECT_LT(test::max_difference(project(space, vectors), vectors), 1e-12);
  }
}

TEST(Quadrature, IntegratesPolynomialsAndTellsItsError) {
  const auto& rule = kronrod_rule();
  const auto integrate = [&](const std::array<double, 15>& weights, int power) {
    double total = 0.0;
    for (size_t k = 0; k < 15; ++k) total += weights[k] * std::pow(rule.nodes[k], power);
    return total;
  };
  for (int power = 0; power <= 22; ++power)  // degree of exactness of the 15-node rule
    EXPECT_NEAR(integrate(rule.weights, power), 1.0 / (power + 1), 1e-14) << power;
  for (int power = 0; power <= 13; ++power)  // of Gauss with 7 nodes
    EXPECT_NEAR(integrate(rule.gauss_weights, power), 1.0 / (power + 1), 1e-14) << power;
  EXPECT_GT(std::abs(integrate(rule.gauss_weights, 18) - 1.0 / 19.0), 1e-12);
}

}  // namespace
}  // namespace segre::trace_test
