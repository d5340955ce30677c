#include "segre/tasks/score.h"

#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::score_test {
namespace {

// Eight labelings with these probabilities, scored exactly, and their shares among samples.
ScoredSpace scored(const std::vector<double>& p, const std::vector<double>& shares, int64_t n_samples) {
  const auto N = static_cast<int64_t>(p.size());
  const auto column = [](const std::vector<double>& x) { return torch::tensor(x, torch::kFloat64); };
  const Space binary = test::binary_space(3);
  ScoredSpace space{.space = binary, .labels = enumerate_labelings(binary), .scores = {}, .sum = {}, .frequencies = {}};
  space.scores.items = {.log_p = column(p).log(), .std_error = torch::zeros({N}, torch::kFloat64)};
  space.frequencies = torch::stack({column(shares), torch::zeros({N}, torch::kFloat64)}, 1);
  space.n_samples = n_samples;
  return space;
}

// A labeling of probability 1e-14 that occurs once among 10,000 samples would be 1e3 standard errors off on its own,
// which says nothing: many such labelings together may well occur once.
TEST(CompareWithFrequencies, RareLabelingsCountTogether) {
  const double rare = 1e-14;
  const auto text = compare_with_frequencies(
      scored({0.5, 0.2999, 0.2, 1e-4, rare, rare, rare, rare}, {0.5, 0.2999, 0.2, 0, 1e-4, 0, 0, 0}, 10'000), "rk4");
  EXPECT_TRUE(test::contains(text, "differences in standard errors: rms 2e-10, largest 4e-10")) << text;
  EXPECT_TRUE(test::contains(text, "total variation 0.0001;")) << text;
}

// By hand: 0.01 is two standard errors of a share of 0.5 among 10,000, and of the other half likewise.
TEST(CompareWithFrequencies, CommonLabelingsCountAlone) {
  const auto text =
      compare_with_frequencies(scored({0.5, 0.5, 0, 0, 0, 0, 0, 0}, {0.51, 0.49, 0, 0, 0, 0, 0, 0}, 10'000), "rk4");
  EXPECT_TRUE(test::contains(text, "largest 2 (")) << text;
  EXPECT_TRUE(test::contains(text, "total variation 0.01;")) << text;
}

}  // namespace
}  // namespace segre::score_test
