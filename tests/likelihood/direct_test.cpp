#include "segre/likelihood/direct.h"

#include <cmath>

#include "segre/flow/sampler.h"
#include "segre/likelihood/scores.h"
#include "segre/path/e_geodesic.h"
#include "segre/path/path_sample.h"
#include "tests/support/reference.h"

namespace segre::direct_test {
namespace {

Flow flow_with(const Space& space, const StateFunction& endpoint) {
  return {.space = space,
          .path = make_e_geodesic(0.01),
          .options = torch::kFloat64,
          .endpoint = endpoint,
          .velocity = endpoint};
}

TEST(DirectSimulation, IsIndependentOfTheSamplesOfTheSameSeed) {
  // A flow that does not move keeps its noise, so the readout shows whose noise it was.
  const Space space = test::binary_space(2);
  std::vector<torch::Tensor> starts;
  const auto standing = [&](const State& state) {
    if (state.t[0].item<double>() == 0.0) starts.push_back(state.v.clone());
    return torch::zeros_like(state.v);
  };
  const Flow flow = flow_with(space, standing);
  direct_estimate(flow, enumerate_labelings(space), {.draws = 8, .seed = 5});
  ASSERT_FALSE(starts.empty());
  const auto samples_noise = reference_noise(space, {5, Purpose::sampling_noise}, 0, 8, torch::kFloat64);
  EXPECT_GT(test::max_difference(starts.front(), samples_noise), 0.1);
  EXPECT_LT(
      test::max_difference(starts.front(), reference_noise(space, {5, Purpose::direct_noise}, 0, 8, torch::kFloat64)),
      1e-12);
}

TEST(DirectSimulation, RefusesStatesThatAreNotFinite) {
  const Space space = test::binary_space(2);
  const Flow flow = flow_with(space, [](const State& state) { return torch::full_like(state.v, NAN); });
  try {
    direct_estimate(flow, enumerate_labelings(space), {.draws = 16});
    FAIL() << "a NaN was averaged";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("not finite"), std::string::npos);
  }
}

TEST(DirectSimulation, KnowsThatItsProbabilitiesSumToOne) {
  const JointOracle oracle(test::random_joint(test::binary_space(3), 7), make_e_geodesic(0.01));
  const auto scores = direct_estimate(flow_of(oracle), enumerate_labelings(oracle.space()), {.draws = 4096});
  const auto sum = sum_of_probabilities(scores);
  EXPECT_NEAR(sum.value, 1.0, 1e-9);
  EXPECT_LT(sum.error, 1e-6) << "every trajectory's probabilities sum to 1, so nothing is left to chance";
}

}  // namespace
}  // namespace segre::direct_test
