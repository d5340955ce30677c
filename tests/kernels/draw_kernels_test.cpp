#include "segre/kernels/draw_kernels.h"

#include <limits>

#include "segre/core/error.h"
#include "segre/path/e_geodesic.h"
#include "segre/train/evidence.h"
#include "segre/train/time_law.h"
#include "tests/support/reference.h"

namespace segre::kernels::draw_kernels_test {
namespace {

using test::max_difference;
using test::noise;

constexpr double kT1 = 0.55;
constexpr uint64_t kSeed = 3;
// Times below 1 and weights below 10 in float32, from sums of 64 float64 in another order.
constexpr double kTimeTol = 1e-7;
constexpr double kWeightTol = 2e-6;

std::shared_ptr<const Path> line() { return make_e_geodesic(0.01); }

torch::Tensor quantiles(int64_t count) { return TimeLaw::uniforms({kSeed, Purpose::training_time}, 0, count); }

torch::TensorOptions on(torch::Device device) { return torch::TensorOptions(device).dtype(torch::kFloat32); }

TimeLaw information_law(bool reweight, torch::Device device) {
  return TimeLaw(TimeLawKind::information, line(), kT1, reweight, on(device));
}

// What laws may have learned: nothing, some bins, all of them, nothing but zeros.
std::vector<std::pair<const char*, NamedTensors>> states() {
  const auto mass = torch::ones({TimeLaw::kBins}, torch::kFloat64);
  const auto information = noise({TimeLaw::kBins}, 5).exp();
  const auto seen = (noise({TimeLaw::kBins}, 6) > 0.0).to(torch::kFloat64);
  return {{"nothing", {{"time_law.sum", 0.0 * mass}, {"time_law.mass", 0.0 * mass}}},
          {"some", {{"time_law.sum", information * seen}, {"time_law.mass", 0.3 * seen}}},
          {"all", {{"time_law.sum", information}, {"time_law.mass", 0.7 * mass}}},
          {"zeros", {{"time_law.sum", 0.0 * mass}, {"time_law.mass", mass}}}};
}

TEST(DrawTimes, TheCpuUsesTheTensorOperations) {
  const auto u = quantiles(8);
  EXPECT_FALSE(draws_serve(u));
  EXPECT_FALSE(draws_serve({}));
  const auto bins = torch::ones({TimeLaw::kBins}, torch::kFloat64);
  EXPECT_THROW(draw_times({bins, bins, kT1, 0.1, 1e-12, false}, u), Error);
}

TEST(DrawTimes, CudaEqualsTheTensorOperations_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  for (const auto& [what, state] : states())
    for (const bool reweight : {false, true})
      for (const int64_t count : {1, 65, 1000, 700'000}) {  // the last: more than the threads
        SCOPED_TRACE(concat("seen: ", what, ", reweight: ", reweight, ", ", count, " items"));
        auto here = information_law(reweight, torch::kCPU);
        auto there = information_law(reweight, torch::kCUDA);
        here.load(state);
        there.load(state);
        const auto u = quantiles(count);
        ASSERT_TRUE(draws_serve(u.cuda()));
        const auto expected = here.at(u);
        const auto found = there.at(u.cuda());
        ASSERT_EQ(found.t.scalar_type(), torch::kFloat32);
        EXPECT_LT(max_difference(found.t.cpu(), expected.t), kTimeTol);
        EXPECT_LT(max_difference(found.weight.cpu(), expected.weight), reweight ? kWeightTol : 1e-30);
      }
}

TEST(DrawTimes, CudaReachesBothEndsAndNoFurther_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  for (const auto& [what, state] : states()) {
    auto law = information_law(true, torch::kCUDA);
    law.load(state);
    const auto t = law.at(torch::tensor({0.0f, 1.0f, 2.0f}).cuda()).t.cpu();
    EXPECT_EQ(t[0].item<float>(), 0.0f) << what;
    EXPECT_NEAR(t[1].item<double>(), kT1, kTimeTol) << what;
    EXPECT_EQ(t[2].item<float>(), static_cast<float>(kT1)) << what;
  }
}

TEST(DrawTimes, CudaKeepsWhatIsNotFinite_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const auto bins = torch::ones({TimeLaw::kBins}, torch::kFloat64).cuda();
  const auto bad = bins * std::numeric_limits<double>::quiet_NaN();
  const auto drawn = draw_times({bad, bins, kT1, 0.1, 1e-12, true}, quantiles(8).cuda());
  EXPECT_TRUE(drawn.t.isnan().all().item<bool>());
  EXPECT_TRUE(drawn.weight.isnan().all().item<bool>());
}

TEST(DrawTimes, RefusesWhatDoesNotFit_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const auto u = quantiles(8).cuda();
  const auto bins = torch::ones({TimeLaw::kBins}, u.options().dtype(torch::kFloat64));
  const auto draw = [&](const torch::Tensor& sum, const torch::Tensor& at) {
    return draw_times({sum, bins, kT1, 0.1, 1e-12, false}, at);
  };
  EXPECT_NO_THROW(draw(bins, u));
  EXPECT_THROW(draw(bins.slice(0, 1), u), Error);
  EXPECT_THROW(draw(bins.to(torch::kFloat32), u), Error);
  EXPECT_THROW(draw(bins.cpu(), u), Error);
  EXPECT_THROW(draw(bins, u.to(torch::kFloat64)), Error);
  EXPECT_THROW(draw(bins, u.view({2, 4})), Error);
}

// What a batch is told, and whether labels may be missing.
struct Telling {
  Space space;
  EvidenceKind kind;
  Unknowns unknowns;
  int64_t first_item;

  EvidenceLaw::Draw on(torch::Device device, int64_t count) const {
    const EvidenceLaw law(space, {.kind = kind}, unknowns, kSeed, draw_kernels_test::on(device));
    const int64_t n = space.n_variables();
    auto labels = test::some_labels(space, count);
    if (unknowns == Unknowns::allow)
      labels = torch::where(noise({count, n}, 7) < -0.5, torch::full({1}, kUnknown, torch::kInt64), labels);
    return law(labels.to(device), quantiles(count).to(device),
               law.numbers(static_cast<uint64_t>(first_item), count).to(device),
               torch::full({1}, first_item * n, torch::kInt64).to(device));
  }
};

// A table, sequences, and images that are wide, high, or a single row; cells begin at every place of a Philox block.
std::vector<Telling> tellings() {
  std::vector<Telling> out;
  for (const Space& space : {test::mixed_space(), Space::sequence(1, 2),
                             Space::sequence(37, 3), Space::image(5, 12, 3),
                             Space::image(9, 7, 2), Space::image(1, 6, 2)})
    for (const EvidenceKind kind : {EvidenceKind::uniform, EvidenceKind::known, EvidenceKind::any})
      for (const Unknowns unknowns : {Unknowns::refuse, Unknowns::allow})
        for (const int64_t first_item : {0, 1, 1'000'000'003}) out.push_back({space, kind, unknowns, first_item});
  return out;
}

void expect_same(const torch::Tensor& found, const torch::Tensor& expected, const char* what) {
  ASSERT_EQ(found.defined(), expected.defined()) << what;
  if (!found.defined()) return;
  EXPECT_TRUE(torch::equal(found.cpu(), expected)) << what;
}

TEST(DrawEvidence, CudaGivesTheBitsOfTheTensorOperations_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  for (const Telling& telling : tellings())
    for (const int64_t count : {1, 4000}) {
      SCOPED_TRACE(concat(telling.space.describe(), ", kind ", static_cast<int>(telling.kind), ", first item ",
                          telling.first_item, ", ", count, " items"));
      const auto here = telling.on(torch::kCPU, count);
      const auto there = telling.on(torch::kCUDA, count);
      expect_same(there.known.labels, here.known.labels, "marks");
      expect_same(there.t, here.t, "times");
      expect_same(there.plain, here.plain, "plain");
    }
}

TEST(DrawEvidence, CudaHandlesMoreVariablesThanThreads_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const Telling telling{Space::image(40, 50, 2), EvidenceKind::any, Unknowns::allow, 1};
  const auto here = telling.on(torch::kCPU, 1500);
  const auto there = telling.on(torch::kCUDA, 1500);
  expect_same(there.known.labels, here.known.labels, "marks");
  expect_same(there.t, here.t, "times");
  expect_same(there.plain, here.plain, "plain");
}

TEST(DrawEvidence, RefusesWhatDoesNotFit) {
  const EvidencePlan plan{.tells = true,
                          .has_own_times = false,
                          .known = 0.5,
                          .own_times = 0.5,
                          .erased = 0.5,
                          .grid = {.has_boxes = true, .is_image = true, .height = 2, .width = 3},
                          .variables = 6,
                          .left_out = kLeftOut,
                          .seed = kSeed};
  const auto labels = torch::zeros({4, 6}, torch::kInt64);
  const auto first = torch::zeros({1}, torch::kInt64);
  EXPECT_FALSE(evidence_serves(plan, quantiles(4)));
  EXPECT_THROW(draw_evidence(plan, labels, quantiles(4), torch::zeros({4, 11}), first), Error) << "not on CUDA";
}

TEST(DrawEvidence, PlacesMustBeExactInFloat32_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const auto t = quantiles(4).cuda();
  EvidencePlan plan{};
  plan.grid.has_boxes = plan.grid.is_image = true;
  plan.grid.height = plan.grid.width = 1 << 11;
  EXPECT_TRUE(evidence_serves(plan, t));
  EXPECT_FALSE(evidence_serves(plan, t.to(torch::kFloat64)));
  plan.grid.height = plan.grid.width = 1 << 12;
  EXPECT_FALSE(evidence_serves(plan, t));
  plan.grid.has_boxes = false;
  EXPECT_TRUE(evidence_serves(plan, t));
}

}  // namespace
}  // namespace segre::kernels::draw_kernels_test
