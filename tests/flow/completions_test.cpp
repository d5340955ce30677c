// Several completions of few items share the work of one.

#include "segre/flow/sampler.h"
#include "segre/model/joint_oracle.h"
#include "segre/path/e_geodesic.h"
#include "tests/support/support.h"

namespace segre::completions_test {
namespace {

// Items of a random joint of which some labels are known.
struct Setting {
  JointOracle oracle{test::random_joint(test::mixed_space(), 3), make_e_geodesic(0.01)};
  Known known;

  explicit Setting(int64_t items) {
    const auto labels = enumerate_labelings(oracle.space()).slice(0, 0, items * 13, 13);
    known.labels = labels.masked_fill(test::noise(labels.sizes(), 4) < 0.3, kUnknown);
  }
};

TEST(Completions, AreThoseOfOneDrawAfterAnother) {
  const Setting s(5);
  for (const char* kind : {"rk4", "sde", "erasure"}) {
    const Sampler sampler(flow_of(s.oracle), {.sampler = kind, .readout = Readout::matched}, 7);
    const auto together = sampler.completions(s.known, 3, 2, 6);
    ASSERT_EQ(together.sizes(), (std::vector<int64_t>{5, 6, 5}));
    for (int64_t k = 0; k < 6; ++k)
      EXPECT_TRUE(torch::equal(together.select(1, k), sampler.complete(s.known, 3, 2 + k).labels)) << kind << ", " << k;
  }
}

TEST(Completions, OfMoreItemsThanABlockHolds) {
  const Setting s(17);
  const Sampler sampler(flow_of(s.oracle), {.readout = Readout::matched}, 7);
  const auto many = s.known.select(torch::arange(sampler.rows_per_block() + 3).remainder(17));
  const auto together = sampler.completions(many, 0, 0, 2);
  for (int64_t k = 0; k < 2; ++k) EXPECT_TRUE(torch::equal(together.select(1, k), sampler.complete(many, 0, k).labels));
}

// Five rows and a hundred draws cost two blocks of 256 rows, not a hundred.
TEST(Completions, DrawsOfFewItemsShareBlocks) {
  const Setting s(5);
  Flow flow = flow_of(s.oracle);
  int64_t rows = 0;
  const auto endpoint = flow.endpoint;
  flow.endpoint = [&rows, endpoint](const State& state) {
    rows += state.v.size(0);
    return endpoint(state);
  };
  const auto velocity = flow.velocity;
  flow.velocity = [&rows, velocity](const State& state) {
    rows += state.v.size(0);
    return velocity(state);
  };
  const Sampler sampler(flow, {.sampler = "euler", .steps = 1, .readout = Readout::matched}, 7);
  sampler.complete(s.known, 0, 0);
  const int64_t one = rows;
  rows = 0;
  sampler.completions(s.known, 0, 0, 100);
  EXPECT_LE(rows, one * (1 + 500 / sampler.rows_per_block()));
}

}  // namespace
}  // namespace segre::completions_test
