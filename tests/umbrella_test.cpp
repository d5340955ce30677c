// The umbrella header: every public header together, as an embedding program includes them.

#include "segre/segre.h"

#include <gtest/gtest.h>

namespace segre::umbrella_test {
namespace {

TEST(Umbrella, GivesAllThatSamplingAndScoringNeed) {
  const auto source = open_source("coupled");
  const Flow flow = flow_of(JointOracle(*source->joint(), make_e_geodesic(0.01)));
  const auto samples = Sampler(flow, {}, /*seed=*/1).draw(0, 8);
  const auto scores = mean_of_weights(FlowBound(flow, {.draws = 1, .panels = 1})(samples.labels));
  EXPECT_LT(scores.log_p.max().item<double>(), 0.0);
}

}  // namespace
}  // namespace segre::umbrella_test
