#include "segre/report/histogram.h"

#include "segre/io/png.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::histogram_test {
namespace {

TEST(PairHistogram, TheFirstVariableRunsAcrossAndTheSecondUpwards) {
  PairHistogram histogram(Space::table({{"a", 3, {}}, {"b", 2, {}}}));
  histogram.add(torch::tensor({{2, 1}, {2, 1}, {2, 1}, {2, 1}}, torch::kInt64));
  histogram.add(torch::tensor({{0, 0}}, torch::kInt32));
  const auto depths = histogram.depths();  // ten pixels a label
  EXPECT_EQ(depths.sizes(), (std::vector<int64_t>{20, 30}));
  EXPECT_EQ(depths[0][29].item<int64_t>(), 255) << "(2, 1), the most frequent: above, on the right";
  EXPECT_EQ(depths[19][0].item<int64_t>(), 128) << "(0, 0), a quarter as often: half as deep, below on the left";
  EXPECT_EQ(depths.count_nonzero().item<int64_t>(), 200);
  const PngImage image = parse_png(histogram.png(), "histogram");
  EXPECT_EQ(image.width, 3 * 10 * 16 + 2 * 8);
  EXPECT_EQ(image.height, 2 * 10 * 16 + 2 * 8);
}

TEST(PairHistogram, OtherSpacesAreRefused) {
  EXPECT_FALSE(PairHistogram::serves(Space::table({{"a", 3, {}}})));
  EXPECT_THROW(PairHistogram(Space::table({{"a", 3, {}}})), InputError);
}

}  // namespace
}  // namespace segre::histogram_test
